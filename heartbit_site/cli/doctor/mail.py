"""The checks of the mail server and of the approvers' addresses, while something sends mails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import get_connection

from agents.models import Channel
from heartbit_site.base import variables
from heartbit_site.base.access import members_with
from heartbit_site.base.models import Workspace
from heartbit_site.cli.doctor.examine import Check
from heartbit_site.cli.terminal.output import listed, one_line
from scheduling.models import Schedule

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


LOOKS: Final[tuple[Callable[[], list[Check]], ...]] = (_mail, _approvers)
