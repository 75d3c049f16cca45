"""Checks of what people made, what waits for them, and the mails that tell them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import get_connection
from django.db import DatabaseError

from agents.actions.chat_apps import check_chat_app
from agents.choices import Placement
from agents.models import Agent, Channel, ChatApp, Run
from agents.querysets import waits_for_people
from heartbit_site.base import variables
from heartbit_site.base.access import NoWorkspaceError, members_with
from heartbit_site.base.amounts import counted, duration
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.cli.doctor.examine import Check
from heartbit_site.cli.terminal.output import listed, one_line
from heartbit_site.config.locate import find
from heartbit_site.config.read import load
from heartbit_site.first_start import default_workspace
from scheduling.models import Schedule
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash
from tools.sandbox.choice import describe_sandbox

LONG: Final = timedelta(days=1)


def _workspace() -> list[Check]:
    """Find the workspace that HEARTBIT_WORKSPACE or --workspace names."""
    if not variables.WORKSPACE.read():
        return []
    try:
        return [Check("workspace", "ok", default_workspace().slug)]
    except NoWorkspaceError as error:
        fix = "Correct HEARTBIT_WORKSPACE, or unset it to work in the default one."
        return [Check("workspace", "fail", str(error), fix)]


def _found_workspace() -> Workspace | None:
    with contextlib.suppress(NoWorkspaceError, DatabaseError):  # said by other checks
        return default_workspace()
    return None


def _configuration() -> list[Check]:
    try:
        file = find()
        if file is None:
            return []
        agents = load(file, _found_workspace()).agents
    except ConfigurationError as error:
        fix = "`heartbit config check` lists every problem."
        return [Check("configuration", "fail", str(error), fix)]
    count = f"{len(agents)} agents" if agents else "the default team"
    return [Check("configuration", "ok", f"{file}: {count}")]


def _tools() -> list[Check]:
    """Agents that were published with another definition of a tool than is installed."""
    published = Agent.objects.filter(current_version__isnull=False, enabled=True, origin="")
    fields = ("workspace_id", "workspace__slug", "name", "current_version__snapshot__tools")
    rows = published.order_by("workspace", "name").values_list(*fields)
    known: dict[int, dict[str, str]] = {}
    stale = []
    for workspace, slug, name, tools in rows:
        if workspace not in known:
            found = catalogue(workspace)
            known[workspace] = {tool: definition_hash(spec) for tool, spec in found.items()}
        installed = known[workspace]
        changed = [each["name"] for each in tools if installed.get(each["name"]) != each["hash"]]
        if changed:
            stale.append(f"{slug}/{name} ({', '.join(changed)})")
    if not stale:
        return [Check("agents", "ok", f"{len(rows)}, with the tools they were published with")]
    detail = f"tools changed since these were published: {'; '.join(stale)}"
    fix = "Save the agent in the admin to publish it again, or take the tool from it."
    return [Check("agents", "warn", detail, fix)]


def _held() -> list[Check]:
    """Runs that were in flight in a backup, in all workspaces."""
    rows = Run.objects.filter(
        home=Placement.RESTORED, finished_at__isnull=True, parent__isnull=True
    )
    slugs = sorted(set(rows.order_by().values_list("workspace__slug", flat=True)))
    if not slugs:
        return []
    detail = f"{counted(rows.count(), 'run')} held since a restore, in {listed(slugs)}"
    fix = "`heartbit runs list --held` lists them, `heartbit runs release` lets one continue."
    return [Check("held runs", "warn", detail, fix)]


def _approvals() -> list[Check]:
    now = datetime.now(UTC)
    begun = list(waits_for_people().values_list("created_at", flat=True))
    if not begun:
        return []
    old = [since for since in begun if now - since > LONG]
    if not old:
        return [Check("approvals", "ok", f"{len(begun)} calls wait for a person")]
    oldest = duration(now - min(old))
    detail = f"{len(old)} calls wait for more than a day, the oldest for {oldest}"
    fix = "`heartbit approve`, `heartbit resolve` and `heartbit answer` list and decide them."
    return [Check("approvals", "warn", detail, fix)]


def _chat_apps() -> list[Check]:
    """Ask the services of enabled chat apps whether they take the tokens."""
    checks = []
    for row in ChatApp.objects.filter(enabled=True).select_related("workspace").order_by("pk"):
        title = f"chat app {row.name}"
        try:
            checks.append(Check(title, "ok", one_line(check_chat_app(row, by=SYSTEM), 200)))
        except HeartbitError as error:
            fix = f"Mend it: admin, chat apps, {row} of {row.workspace.slug}."
            checks.append(Check(title, "fail", one_line(str(error), 300), fix))
    return checks


def _sandbox() -> list[Check]:
    name, problem = describe_sandbox()
    if problem is None:
        return [Check("sandbox", "ok", f"{name} holds on this machine")]
    return [Check("sandbox", "warn", problem, "Code is refused until then: docs/howto/code.md.")]


PATIENCE_SECONDS: Final = 5


def _mail() -> list[Check]:
    """Check that the mail server takes a connection and the login; nothing is sent."""
    reasons = list(_senders())
    if not reasons:
        return []
    used = f"for {', '.join(reasons)}"
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        server = get_connection(timeout=PATIENCE_SECONDS)
        server.open()
        server.close()
    except (OSError, ImproperlyConfigured, ImportError, TypeError) as error:  # SMTP's are OSErrors
        reason = one_line(str(error), 200) or type(error).__name__
        fix = "Check EMAIL_HOST and the other EMAIL_ variables: mails are not sent until then."
        return [Check("mail", "fail", f"{place} cannot be used, {used}: {reason}", fix)]
    return [Check("mail", "ok", f"{place} answers, {used}")]


def _senders() -> Iterator[str]:
    if variables.APPROVAL_MAIL.read():
        yield variables.APPROVAL_MAIL.name
    if variables.ALERT_MAIL.read():
        yield variables.ALERT_MAIL.name
    if os.environ.get(variables.EMAIL_HOST.name, "").strip():
        yield variables.EMAIL_HOST.name
    if Schedule.objects.filter(enabled=True, deliver__contains=[{"kind": "email"}]).exists():
        yield "results of schedules"
    if Channel.objects.filter(enabled=True, kind="email").exists():
        yield "answers of channels"


def _approvers() -> list[Check]:
    """Check that approvers have an address, while mails ask for decisions."""
    if not variables.APPROVAL_MAIL.read():
        return []
    checks = []
    for workspace in Workspace.objects.order_by("slug"):
        deciders = members_with(workspace, "approvals:decide")
        people = get_user_model().objects.filter(pk__in=deciders, email="")
        if names := list(people.order_by("username").values_list("username", flat=True)):
            shown = one_line(listed(names), 200)
            detail = f"in {workspace.slug} no mail asks {shown}: they have no address"
            fix = "Enter it on the person's page of the admin."
            checks.append(Check("approval mail", "warn", detail, fix))
    return checks


MAIL: Final[tuple[Callable[[], list[Check]], ...]] = (_mail, _approvers)
LOOKS: Final = (_workspace, _configuration, _tools, _sandbox, _held, _approvals, _chat_apps)
