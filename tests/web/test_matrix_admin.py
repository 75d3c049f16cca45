"""Every address of the admin, by those for whom it is not (S7).

Who may what with which model is the admin's own tests' (``tests/admin``); here nothing is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver

from agents.models import AgentVersion, Skill, ToolCall, Workflow
from heartbit_site import urls
from heartbit_site.base.models import Membership, Role, Workspace
from heartbit_site.base.rights import ONLY_INSTALLATION
from tests.sizes import chosen
from tests.web.matrix_askers import MAY
from tests.web.matrix_pages import LISTS, RAW, of_list
from tests.web.matrix_world import World, build
from tests.web.people import member, person, session_of
from tools.definitions.catalogue import store
from tools.definitions.registry import definition_hash, registry
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.api.server import WebServer

#: Addresses that everybody with an account in the admin may open, or that let somebody in or out.
OPEN = {
    *("", "login/", "logout/", "password_change/", "password_change/done/", "jsi18n/", "search/"),
    "autocomplete/",
}
#: Models of the installation: superusers' alone.
INSTALLATION = ("axes/", "auth/", "base/tier/", "django_celery_beat/", "agents/workerheartbeat/")


def addresses(patterns: Any, before: str = "") -> Iterator[str]:
    for entry in patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, path)
        elif isinstance(entry, URLPattern) and "^" not in path and "(?P" not in path:
            yield path


assert urls.urlpatterns, "importing it registers every model"
ADDRESSES = sorted(set(addresses(admin.site.urls[0])) - OPEN)
ROWS = {
    "agents/agent/": "agent", "agents/run/": "run", "agents/agentversion/": "version",
    "agents/conversation/": "conversation", "base/workspace/": "workspace", "base/apikey/": "key",
    "base/membership/": "membership", "agents/toolcall/": "call",
    "agents/message/": "message", "scheduling/schedule/": "schedule",
    "scheduling/firing/": "firing", "tools/cataloguetool/": "tool",
    "agents/skill/": "skill", "agents/workflow/": "workflow",
}  # fmt: skip


@pytest.fixture(scope="module")
def world(site: WebServer) -> Iterator[World]:
    for found in build(site):
        stranger = User.objects.get(memberships__workspace=found.other)
        User.objects.filter(pk=stranger.pk).update(is_staff=True)
        nobody = person()
        User.objects.filter(pk=nobody.pk).update(is_staff=True)
        found.cookies["stranger"] = session_of(editor_of(found.other))
        found.cookies["staff of another"] = session_of(stranger)
        found.cookies["staff of nothing"] = session_of(nobody)
        yield found


def editor_of(workspace: Workspace) -> User:
    """Somebody of another workspace who enters the admin without being staff."""
    return member(workspace, Role.EDITOR)


@pytest.fixture(scope="module")
def rows(world: World) -> dict[str, str]:
    version = AgentVersion.objects.filter(agent__workspace=world.mine).first()
    member = Membership.objects.get(workspace=world.mine, role=Role.ADMIN)
    key, call = (
        world.mine.api_keys.first(),
        ToolCall.objects.filter(run_id=world.targets["run_id"]).first(),
    )
    assert version is not None and key is not None and call is not None
    store([registry["calculate"]])
    tool = CatalogueTool.objects.create(
        workspace=world.mine,
        name="calculate",
        origin="mcp",
        definition_id=definition_hash(registry["calculate"]),
    )
    skill = Skill.objects.get(workspace=world.mine, name=world.targets["skill"])
    workflow = Workflow.objects.get(workspace=world.mine, name=world.targets["workflow"])
    return {
        "agent": str(version.agent_id), "run": world.targets["run_id"], "version": str(version.pk),
        "conversation": world.targets["conversation_id"], "workspace": str(world.mine.pk),
        "key": str(key.pk), "membership": str(member.pk), "call": str(call.pk),
        "message": world.targets["message_id"], "tool": str(tool.pk), "skill": str(skill.pk),
        "workflow": str(workflow.pk),
    }  # fmt: skip


def address(path: str, rows: dict[str, str]) -> str:
    kind = next((kind for start, kind in ROWS.items() if path.startswith(start)), "")
    path = re.sub(
        r"<(?:uuid|path|int):(?:object_id|version_pk|skill_pk|number)>|<id>",
        rows.get(kind, "1"),
        path,
    )
    assert "<" not in path, "a new kind of place: say what it is"
    return f"/admin/{path}"


@pytest.mark.parametrize("path", [path for path in ADDRESSES if chosen(path, one_of=3)])
def test_an_address_of_the_admin_is_not_for_those_who_have_no_right(
    world: World, rows: dict[str, str], path: str
) -> None:
    where, canary = address(path, rows), f"canary of {world.mine.slug}"
    answer = world.client("anonymous", None).get(where)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/admin/login/")
    for asker in ("viewer", "operator"):  # members whose role does not enter
        answer = world.client(asker, None).get(where)
        assert answer.status_code == 403, asker
        assert f"admin of {world.mine.name}" in answer.text, "who can help"
        assert canary not in answer.text, asker
    is_row = "<" in path
    for asker in ("stranger", "staff of another", "staff of nothing"):
        answer = world.client(asker, None).get(where)
        if is_row or path.startswith(INSTALLATION) or asker == "staff of nothing":
            assert answer.status_code in (302, 403, 404), f"{asker}: {answer.status_code}"
        assert answer.status_code < 500
        assert canary not in answer.text, asker


@pytest.mark.parametrize("path", LISTS)
def test_everybody_gets_what_the_table_says_of_a_list_of_the_admin(world: World, path: str) -> None:
    for asker in ("anonymous", *MAY):
        answer = world.client(asker, None).get(f"/admin/{path}")
        assert answer.status_code == of_list(path, asker), asker


@pytest.mark.parametrize("path", [one for one in ADDRESSES if one.startswith(INSTALLATION)])
def test_an_address_of_the_installation_is_for_superusers_alone(
    world: World, rows: dict[str, str], path: str
) -> None:
    for asker in ("editor", "admin"):
        answer = world.client(asker, None).get(address(path, rows))
        if "<" in path:  # as for an id that nobody has
            assert answer.status_code in (302, 403, 404), asker
        elif path in RAW:
            assert answer.headers["location"] == f"/w/{world.mine.slug}/health/", asker
        else:
            assert answer.status_code == 403, asker
            assert ONLY_INSTALLATION in answer.text


def test_every_list_of_the_admin_has_a_row() -> None:
    labels = {model._meta.label_lower.replace(".", "/") + "/" for model in admin.site._registry}
    assert labels == set(LISTS)


def test_the_number_of_cells_of_the_admin(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        cells = 6 * len(ADDRESSES) + len(LISTS) * (1 + len(MAY))
        print(f"\nS7: {cells} cells of the admin, {len(ADDRESSES)} addresses")  # noqa: T201
    assert len(ADDRESSES) > 100
