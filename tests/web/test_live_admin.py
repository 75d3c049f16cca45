"""The live admin in a browser: prompts, the badge and rows follow what workers and others do."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import expect

from agents.actions.decide_call import approve_call
from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.skills import save_skill
from agents.models import Agent, Decision, Run, ToolBinding, ToolCall
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.queues import INGEST_DOCUMENTS
from heartbit_site.base.queues import SYSTEM as SYSTEM_QUEUE
from memory.actions.bases import remove_base, save_base
from memory.actions.documents import save_document
from memory.models import Document
from tests.fleet import Worker, wait_until
from tests.skills.folders import skill_folder
from tests.starts import start_run
from tests.web.axe import serious
from tests.web.people import member, person
from tests.web.test_approvals import SUM, careful

if TYPE_CHECKING:
    from uuid import UUID

    from playwright.sync_api import Locator, Route, WebSocketRoute

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

RUNS = "/admin/agents/run/?runs=all"
WAITING = "/admin/agents/toolcall/"
FETCHED = "#hb-prompts[data-newest]"
SOCKET = re.compile(r"/ws/\?drawn=[0-9]+$")


@pytest.fixture
def staff(visitors: Visitors, workspace: Workspace) -> Visitor:
    """An admin of the workspace, in the admin."""
    user = member(workspace)
    user.is_staff = True
    user.save()
    return visitors(user=user)


@pytest.fixture
def operator(visitors: Visitors) -> Visitor:
    """A superuser, who also sees rows as they are stored."""
    return visitors(user=person(operator=True))


def opened(visitor: Visitor, path: str) -> None:
    """Open a page and wait until it has fetched what its first pulse said."""
    visitor.go(path)
    visitor.page.wait_for_selector(FETCHED, state="attached")


def waiting_run(workspace: Workspace, *, agent: str = "solo") -> UUID:
    """A run that waits for a person by now."""
    run = start_run(workspace, SUM, agent=agent)
    wait_until(lambda: Run.objects.get(pk=run).status == "waiting", what="it waits")
    return run


def call_of(run: UUID) -> ToolCall:
    return ToolCall.objects.select_related("run__workspace", "run__version__agent").get(run_id=run)


def prompts(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("status", name="Calls that wait for you").get_by_role("article")


def row(visitor: Visitor, run: UUID) -> Locator:
    """The row of a run in a list of the admin."""
    link = reverse("web:run", args=[visitor.slug, run])
    return visitor.page.locator("tbody", has=visitor.page.locator(f"a[href='{link}']"))


def test_given_a_page_when_a_run_begins_to_wait_then_a_prompt_decides_it_and_its_row_follows(
    operator: Visitor, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    opened(operator, RUNS)
    run = waiting_run(workspace)
    prompt = prompts(operator)
    expect(prompt).to_contain_text("solo asks to use calculate")
    expect(prompt).to_contain_text("6*7")
    expect(row(operator, run)).to_contain_text("Waiting")
    expect(operator.page.locator("#waiting")).to_be_visible()
    prompt.get_by_role("button", name="Approve").click()
    expect(prompt).to_contain_text("Approved; the run continues.")
    expect(row(operator, run)).to_contain_text("Succeeded")
    decision = Decision.objects.get(run_id=run)
    assert (decision.verdict, decision.via) == ("approved", "web")


def test_given_the_list_of_documents_when_a_worker_reads_one_then_its_row_follows(
    staff: Visitor, worker: Worker, workspace: Workspace
) -> None:
    base, _ = save_base(workspace, "handbook", description="", by=SYSTEM)
    with transaction.atomic():  # so the worker finds it claimed
        document, _ = save_document(base, "a.md", b"# One\n\nFirst.", by=SYSTEM)
        claimed = Document.objects.filter(pk=document.pk)
        claimed.update(claimed_until=datetime(2100, 1, 1, tzinfo=UTC))
    opened(staff, "/admin/memory/document/")
    shown = staff.page.get_by_role("row", name="a.md")
    expect(shown).to_contain_text("Waits to be read")
    claimed.update(claimed_until=None)
    send(TaskMessage(INGEST_DOCUMENTS, "", SYSTEM_QUEUE))
    expect(shown).to_contain_text("Ready", timeout=10_000)  # it looks by itself after 15 s
    remove_base(base, by=SYSTEM)


def test_given_a_prompt_when_it_is_denied_with_a_reason_then_the_model_reads_it(
    staff: Visitor, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    opened(staff, "/admin/agents/agent/")
    run = waiting_run(workspace)
    prompt = prompts(staff)
    prompt.get_by_text("Deny", exact=True).click()
    prompt.get_by_label("Why?").fill("Use a pencil")
    second = waiting_run(workspace)  # what is typed for the first one stays
    expect(staff.page.get_by_role("link", name="1 more waits for you")).to_be_visible()
    expect(prompt.get_by_label("Why?")).to_have_value("Use a pencil")
    expect(prompt.get_by_label("Why?")).to_be_focused()
    prompt.get_by_role("button", name="Deny the call").click()
    expect(prompt.first).to_contain_text("Denied")
    assert Decision.objects.get(run_id=run).reason == "Use a pencil"
    expect(staff.page.locator(f"#hb-prompts article[data-run='{second}']")).to_be_visible()


def test_given_a_prompt_when_somebody_else_is_faster_then_it_says_who(
    staff: Visitor, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    opened(staff, "/admin/")
    call = call_of(waiting_run(workspace))
    expect(prompts(staff)).to_have_count(1)
    approve_call(call, digest=call.digest, by=Actor("grace", "api"))
    expect(prompts(staff)).to_contain_text(re.compile("Approved by grace"))
    expect(prompts(staff).get_by_role("button", name="Approve")).to_have_count(0)


def test_given_a_prompt_of_a_decided_call_when_it_is_approved_then_the_refusal_is_shown(
    staff: Visitor, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    opened(staff, "/admin/")
    call = call_of(waiting_run(workspace))
    prompt = prompts(staff)
    expect(prompt).to_have_count(1)
    staff.page.route("**/toolcall/prompts/**", lambda route: route.abort())  # it is not told
    staff.expect("ERR_FAILED")
    staff.expect("409")
    approve_call(call, digest=call.digest, by=Actor("grace", "api"))
    prompt.get_by_role("button", name="Approve").click()
    expect(prompt).to_contain_text(re.compile("already approved by grace"))


def test_given_a_prompt_when_the_next_page_opens_then_it_is_there_until_it_is_dismissed(
    staff: Visitor, worker: Worker, workspace: Workspace
) -> None:
    careful(workspace)
    opened(staff, "/admin/")
    run = waiting_run(workspace)
    expect(prompts(staff)).to_have_count(1)
    staff.go("/admin/agents/agent/")
    prompt = prompts(staff)
    expect(prompt).to_have_count(1)
    page = reverse("web:run", args=[workspace.slug, run])
    assert prompt.get_by_role("link", name="Open").get_attribute("href") == page
    prompt.get_by_role("button", name="Dismiss").focus()
    staff.page.keyboard.press("Escape")
    expect(prompt).to_have_count(0)
    waiting_run(workspace)  # a dismissed one does not keep others away
    expect(prompts(staff)).to_have_count(1)
    prompts(staff).get_by_role("button", name="Dismiss").click()
    opened(staff, "/admin/")
    expect(staff.page.locator("#waiting")).to_have_text("2")
    assert prompts(staff).count() == 0


def test_given_a_call_for_a_group_when_it_waits_then_its_members_alone_are_prompted(
    visitors: Visitors, worker: Worker, workspace: Workspace
) -> None:
    group, _ = Group.objects.get_or_create(name="signers")
    agent = careful(workspace)
    ToolBinding.objects.filter(agent=agent).update(approver_group=group.name)
    publish_agent(agent)
    people = {}
    for role, name in (("operator", "asked"), ("operator", "unasked"), ("viewer", "viewer")):
        user = member(workspace, role)
        user.is_staff = True
        user.save()
        people[name] = visitors(user=user)
        if name != "unasked":
            user.groups.add(group)
        opened(people[name], "/admin/")
    waiting_run(workspace)
    expect(prompts(people["asked"])).to_have_count(1)
    for name in ("unasked", "viewer"):
        expect(people[name].page.locator("#waiting")).to_have_text("1")
        assert prompts(people[name]).count() == 0


def test_given_a_failed_fetch_or_a_lost_socket_then_prompts_are_fetched_again(
    staff: Visitor,
) -> None:
    sockets: list[WebSocketRoute] = []
    fetched: list[str] = []
    staff.expect("503")

    def serve(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.on_message(lambda _: socket.send('{"type": "pong"}'))
        socket.send('{"runs": 1, "calls": 1, "fleet": 1}')  # always alike

    def fail_once(route: Route) -> None:
        fetched.append(route.request.url)
        if len(fetched) == 1:
            route.fulfill(status=503)
        else:
            route.continue_()

    staff.page.route_web_socket(SOCKET, serve)
    staff.page.route("**/toolcall/prompts/**", fail_once)
    opened(staff, "/admin/agents/agent/")
    assert len(fetched) == 2
    staff.page.evaluate("document.getElementById('hb-prompts').removeAttribute('data-newest')")
    sockets[0].close(code=1012)
    staff.page.wait_for_selector(FETCHED, state="attached")
    assert (len(sockets), len(fetched)) == (2, 3)


@pytest.mark.parametrize("dark", [False, True])
def test_given_prompts_then_they_are_accessible(
    visitors: Visitors, worker: Worker, workspace: Workspace, *, dark: bool
) -> None:
    careful(workspace)
    visitor = visitors(user=person(operator=True), dark=dark, width=390 if dark else 1280)
    opened(visitor, "/admin/")
    waiting_run(workspace)
    expect(prompts(visitor)).to_have_count(1)
    prompts(visitor).get_by_text("Deny", exact=True).click()
    assert [str(one) for one in serious(visitor.page)] == []


class TestRows:
    def test_given_the_waiting_list_when_calls_come_and_go_then_it_follows(
        self, operator: Visitor, worker: Worker, workspace: Workspace
    ) -> None:
        careful(workspace)
        opened(operator, WAITING)
        run = waiting_run(workspace)
        page = reverse("web:run", args=[workspace.slug, run])
        rows = operator.page.locator("#hb-rows tbody", has_text=workspace.name)
        expect(rows.locator(f"a[href='{page}']")).to_contain_text("calculate")
        cancel_run(workspace, run, reason="not needed")
        expect(rows).to_have_count(0)

    def test_given_a_worker_that_comes_and_goes_then_the_fleets_rows_follow(
        self, visitors: Visitors, workspace: Workspace, wire_server: object
    ) -> None:
        operator = visitors(user=person(operator=True))
        opened(operator, "/admin/agents/workerheartbeat/")
        with Worker(queues="nobodys", concurrency=1) as another:
            mine = operator.page.locator("#hb-rows tbody", has_text=f":{another.pid}")
            expect(mine).to_contain_text("Alive")
        expect(mine).to_contain_text("Gone")

    def test_given_chosen_rows_and_a_word_typed_when_rows_change_then_they_stay(
        self, staff: Visitor, worker: Worker, workspace: Workspace
    ) -> None:
        opened(staff, "/admin/agents/agent/")
        page = staff.page
        writer = page.locator(
            "#hb-rows tbody", has=page.locator("b", has_text=re.compile("^writer$"))
        )
        box = writer.locator("input.action-select")
        box.check()
        search = page.get_by_role("searchbox").or_(page.locator("#searchbar"))
        search.first.fill("wri")
        assert "Succeeded" not in writer.inner_text()
        start_run(workspace, "[[text: Done.]]", agent="writer")
        expect(writer).to_contain_text("Succeeded")
        expect(box).to_be_checked()
        expect(search.first).to_have_value("wri")
        expect(search.first).to_be_focused()

    def test_given_a_page_that_is_up_to_date_when_it_connects_then_its_rows_are_not_fetched_again(
        self, staff: Visitor, workspace: Workspace
    ) -> None:
        page, asked = staff.page, list[str]()
        sockets: list[WebSocketRoute] = []
        page.route_web_socket(SOCKET, lambda socket: sockets.append(socket))
        page.on("request", lambda one: asked.append(one.resource_type + urlsplit(one.url).path))
        staff.go("/admin/agents/agent/")
        expect(page.locator("#hb-rows")).to_be_attached()
        wait_until(lambda: page.evaluate("1") and sockets, what="its socket")
        pulse = {"type": "pulse", "waiting": 0, "calls": 5, "runs": 5}
        again = "fetch/admin/agents/agent/"
        sockets[0].send(json.dumps({**pulse, "unchanged": ["runs", "calls"]}))
        page.wait_for_selector(FETCHED, state="attached")  # it fetches prompts, and would rows
        assert again not in asked
        sockets[0].send(json.dumps({**pulse, "runs": 6}))
        wait_until(lambda: page.evaluate("1") and again in asked, what="the rows")

    def test_given_a_message_for_the_next_page_when_rows_are_fetched_then_it_is_kept(
        self, staff: Visitor, worker: Worker, workspace: Workspace
    ) -> None:
        agent = Agent.objects.get(workspace=workspace, name="writer")
        opened(staff, "/admin/agents/agent/")
        page = staff.page
        sent = page.evaluate(
            """async (pk) => {
              const body = new FormData(document.getElementById("changelist-form"));
              body.set("action", "stop");
              body.append("_selected_action", pk);
              const answer = await fetch(location.href, {method: "POST", body, redirect: "manual"});
              return answer.type;
            }""",
            agent.pk,
        )
        assert sent == "opaqueredirect"
        start_run(workspace, "[[text: Done.]]", agent="researcher")
        expect(page.locator("#hb-rows")).to_contain_text("Succeeded")  # the rows were fetched
        page.reload()
        expect(page.locator("#main")).to_contain_text("stopped")

    def test_given_a_list_of_definitions_when_somebody_adds_one_then_it_comes_by_itself(
        self, staff: Visitor, workspace: Workspace
    ) -> None:
        staff.go("/admin/agents/skill/")
        expect(staff.page.locator("#hb-rows")).to_be_attached()
        save_skill(workspace, skill_folder("house-rules"), by=Actor("grace", "api"))
        expect(staff.page.locator("#hb-rows")).to_contain_text("house-rules", timeout=10_000)

    def test_given_an_open_form_when_somebody_else_saves_then_it_says_who_and_keeps_what_is_typed(
        self, staff: Visitor, workspace: Workspace
    ) -> None:
        agent = Agent.objects.get(workspace=workspace, name="writer")
        staff.go(f"/admin/agents/agent/{agent.pk}/change/")
        staff.page.get_by_label("Description").fill("Half a sen")
        Agent.objects.filter(pk=agent.pk).update(system_prompt="Write well.")
        publish_agent(Agent.objects.get(pk=agent.pk), by=Actor("grace", "api"))
        changed = staff.page.locator("#hb-changed")
        expect(changed).to_contain_text("grace has changed this", timeout=10_000)
        expect(staff.page.get_by_label("Description")).to_have_value("Half a sen")

    def test_given_a_pointer_on_the_list_when_rows_come_then_none_moves_until_it_is_asked(
        self, staff: Visitor, workspace: Workspace
    ) -> None:
        staff.go("/admin/agents/skill/")
        rows = staff.page.locator("#hb-rows")
        rows.hover()
        save_skill(workspace, skill_folder("house-rules"), by=Actor("grace", "api"))
        show = rows.get_by_role("button", name="1 new: show")
        expect(show).to_be_visible(timeout=10_000)
        expect(rows).not_to_contain_text("house-rules")
        show.click()
        expect(rows).to_contain_text("house-rules")
