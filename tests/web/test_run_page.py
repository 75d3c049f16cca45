"""The list of runs and a run's page, in a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.templatetags.static import static
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.journal import events
from agents.live.tree_view import TreeView, to_json_line
from agents.live.updates import DeltaUpdate, EventUpdate, seen
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.models import Agent, Run
from agents.runs.live_entries import Delta
from tests.api.server import Caller, key_for
from tests.fleet import wait_until
from tests.starts import start_run, start_tool_call
from tests.web import labels
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page, WebSocketRoute

    from agents.live.updates import Update
    from agents.runs.live_entries import DeltaKind
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

A = UUID(int=10)
MOST_BYTES = 65536  # of a frame
TASK = (
    'What is 6 times 7? [[calls: calculate {"expression": "6*7"}]]'
    " [[text: It is **forty-two**, as everybody knows.]] [[stream: 1500]] [[chunks: 40]]"
)
TURNS = 85
CALLS = ", ".join(["current_time {}"] * 11)
LONG = f"Count. [[calls: {CALLS}]] [[rounds: {TURNS - 1}]] [[text: Done.]]"
SUM = 'Sum. [[calls: calculate {"expression": "1+1"}]]'
MOST_DRAWN = 60


class Sockets:
    """The sockets of a page, to be cut off."""

    def __init__(self, page: Page) -> None:
        self._open: list[tuple[WebSocketRoute, WebSocketRoute]] = []
        self.opened = 0
        page.route_web_socket(re.compile("/runs/"), self._route)

    def _route(self, there: WebSocketRoute) -> None:
        self.opened += 1
        self._open.append((there, there.connect_to_server()))

    def cut(self) -> None:
        """Break them all."""
        for there, server in self._open:
            server.close(code=1012)
            there.close(code=1012)
        self._open.clear()


def shown(page: Page) -> list[str]:
    """What somebody reads of a run that has ended."""
    parts = ("header.head h1", ".answer", ".turns", ".timeline .windowed", "dl.facts")
    return [page.locator(part).first.inner_text() for part in parts]


def test_given_a_run_that_is_a_tool_call_then_its_page_has_the_call_and_no_model(
    worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    page = signed_in.page
    run_id = start_tool_call(workspace, "calculate", {"expression": "6*7"}, agent="analyst")
    signed_in.go(f"runs/{run_id}/")
    expect(page.locator(".answer")).to_contain_text("42")
    turns = page.locator(".turns article.turn")
    expect(turns).to_have_count(1)
    expect(turns).to_contain_text("The tool call")
    expect(turns).to_contain_text("No model is called.")
    expect(turns.locator(".call")).to_contain_text("calculate")
    facts = page.locator("dl.facts")
    assert "Model\nnone" in facts.inner_text()
    assert "Turns\n0" in facts.inner_text()
    page.get_by_role("link", name="Fork").click()
    expect(page.get_by_role("heading", name=labels.FORK_DIALOG)).to_be_visible()
    expect(page.get_by_label("Task")).to_have_count(0)
    page.get_by_role("button", name="Fork").click()
    page.wait_for_url(lambda url: f"{run_id}" not in url)
    expect(page.locator(".answer")).to_contain_text("42")


def test_given_a_run_when_cut_off_edited_approved_and_loaded_again_then_its_page_is_the_same(
    site: WebServer, worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    page = signed_in.page
    sockets = Sockets(page)
    signed_in.go("runs/")
    page.get_by_role("button", name="Start the first run").click()
    dialog = page.get_by_role("dialog", name="New run")
    dialog.get_by_label("Agent").select_option("analyst")
    dialog.get_by_label("Task").fill(TASK)
    dialog.get_by_label("Ask me before every tool call").check()
    dialog.get_by_role("button", name="Start").click()

    expect(page.get_by_role("heading", name="analyst")).to_be_visible()
    card = page.locator("article.asked")
    expect(card).to_contain_text("6*7")
    sockets.cut()
    expect(page.locator(".live")).to_have_text("Reconnecting …")
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("expression").fill("6*8")
    card.get_by_role("button", name=labels.REVIEW).click()
    card.get_by_role("button", name="these changes").click()
    expect(page.locator(".live")).to_have_text("Live")
    expect(page.locator(".writing")).to_contain_text("It is forty")
    sockets.cut()
    expect(page.locator(".answer .markdown")).to_have_text("It is forty-two, as everybody knows.")
    expect(page.locator(".answer strong")).to_have_text("forty-two")
    expect(page.locator(".head .pill")).to_have_text("Succeeded")
    expect(page.locator(".call")).to_have_count(1)
    call = page.locator(".call")
    call.locator("summary").click()
    ran = ['{\n  "expression": "6*7"\n}', '{\n  "expression": "6*8"\n}', "48"]
    expect(call.locator("pre")).to_have_text(ran)
    expect(call).to_contain_text("(web) at")
    assert sockets.opened >= 3

    before = shown(page)
    page.reload()
    expect(page.locator(".answer strong")).to_have_text("forty-two")
    expect(page.get_by_text("every tool call waits for a person")).to_be_visible()
    call.locator("summary").click()
    expect(call.locator("pre")).to_have_text(ran)
    expect(call).to_contain_text("(web) at")
    assert shown(page) == before


def test_given_a_queue_without_a_worker_then_the_page_names_the_command_that_serves_it(
    signed_in: Visitor, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobodys")
    run = start_run(workspace, "Wait.", agent="writer")
    signed_in.go(f"runs/{run}/")
    said = "No worker serves the queue nobodys: heartbit serve --queues nobodys starts one."
    expect(signed_in.page.get_by_text(said)).to_be_visible()
    shown = signed_in.page.locator("code", has_text="heartbit serve --queues nobodys")
    expect(shown).to_be_visible()


def test_given_a_tree_when_a_sub_agent_is_chosen_then_it_has_an_address(
    site: WebServer, worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    task = '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: All.]]'
    run = start_run(workspace, task, agent="orchestrator")
    page = signed_in.page
    signed_in.go(f"runs/{run}/")
    page.get_by_role("link", name="writer succeeded").click()
    child = Run.objects.get(parent_id=run)
    expect(page).to_have_url(re.compile(f"#{child.pk}$"))
    expect(page.get_by_role("heading", name="writer")).to_be_visible()
    expect(page.locator(".answer")).to_contain_text("Prose.")
    page.get_by_role("tab", name="Journal").click()
    page.get_by_label("Filter events").fill("run.succeeded")
    page.locator(".event").click()
    expect(page.locator(".event-detail pre")).to_contain_text('"output": "Prose."')
    page.reload()
    expect(page.get_by_role("heading", name="writer")).to_be_visible()
    expect(page.get_by_role("tab", name="Journal")).to_have_attribute("aria-selected", "true")


def test_given_a_thousand_events_when_the_page_opens_on_a_phone_then_only_what_is_in_sight_is_drawn(
    site: WebServer, worker: Worker, visitors: Visitors, workspace: Workspace
) -> None:
    agent = Agent.objects.get(workspace=workspace, name="analyst")
    agent.max_turns = 400
    agent.save()
    publish_agent(agent)
    run = start_run(workspace, LONG, agent="analyst")
    wait_until(lambda: Run.objects.get(pk=run).status == "succeeded", seconds=60)
    assert Run.objects.get(pk=run).last_seq >= 1000
    visitor = visitors(user=member(workspace), width=390, height=800)
    page = visitor.page
    visitor.go(f"runs/{run}/#{run}/journal")
    expect(page.locator(".journal .number").first).to_have_text(re.compile(r"^1,?\d{3} events$"))
    assert page.locator(".event").count() < MOST_DRAWN
    assert page.locator(".line").count() < MOST_DRAWN
    page.get_by_role("tab", name="Turns").click()
    turns = page.locator("article.turn")
    expect(turns.last).to_have_attribute("aria-label", f"Turn {TURNS}")
    assert turns.count() < MOST_DRAWN
    page.get_by_role("button", name=re.compile(r"^Show \d+ earlier$")).click()
    expect(turns).to_have_count(TURNS)
    expect(turns.first).to_be_focused()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390

    page.reload()
    page.get_by_role("tab", name="Turns").click()
    expect(turns.last).to_have_attribute("aria-label", f"Turn {TURNS}")
    assert turns.count() < MOST_DRAWN
    page.locator(".step .who", has_text=re.compile("^turn 1$")).click()
    expect(page.get_by_label("Turn 1", exact=True)).to_be_focused()


class TestTheList:
    def test_given_filters_when_the_page_is_loaded_again_then_they_are_kept(
        self, site: WebServer, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        start_run(workspace, "Sing of tides. [[text: La.]]", agent="writer")
        asks = [start_run(workspace, SUM, agent="analyst", approve=True) for _ in range(2)]
        runs = Run.objects.filter(workspace=workspace)
        wait_until(lambda: not runs.filter(status__in=["queued", "running"]).exists())
        assert runs.filter(pk__in=asks, status="waiting").count() == 2
        page = signed_in.page
        rows = page.locator("table.runs tbody tr")
        signed_in.go("runs/")
        expect(rows).to_have_count(3)
        page.get_by_role("searchbox", name="Search").fill("TIDES")
        page.keyboard.press("Enter")
        expect(rows).to_have_count(1)
        expect(page).to_have_url(re.compile(r"\?text=TIDES$"))
        page.get_by_role("searchbox", name="Search").fill("")
        page.keyboard.press("Enter")
        expect(rows).to_have_count(3)
        page.get_by_role("combobox", name="Status").select_option("waiting")
        expect(rows).to_have_count(2)
        page.reload()
        expect(rows).to_have_count(2)
        page.get_by_label("Choose all").check()
        page.get_by_role("button", name="Cancel 2 runs").click()
        page.get_by_role("button", name="Cancel them").click()
        expect(page.get_by_text(labels.NO_RUNS)).to_be_visible()
        page.get_by_role("link", name=labels.CLEAR_FILTERS).click()
        expect(page.locator(".pill", has_text="Cancelled")).to_have_count(2)

    def test_given_a_viewer_then_nothing_can_be_started_or_cancelled(
        self, site: WebServer, visitors: Visitors, workspace: Workspace
    ) -> None:
        start_run(workspace, "Wait.", agent="writer")
        visitor = visitors(user=member(workspace, "viewer"))
        visitor.go("runs/")
        expect(visitor.page.locator("table.runs tbody tr")).to_have_count(1)
        expect(visitor.page.get_by_role("button", name="New run")).to_have_count(0)
        expect(visitor.page.locator("table.runs input[type=checkbox]")).to_have_count(0)

    def test_given_no_agent_then_a_new_run_leads_to_the_templates(
        self, visitors: Visitors, workspace: Workspace
    ) -> None:
        Agent.objects.filter(workspace=workspace).update(current_version=None)
        editor = member(workspace, "editor")
        User.objects.filter(pk=editor.pk).update(is_staff=True)
        visitor = visitors(user=editor)
        visitor.go("runs/")
        visitor.page.get_by_role("button", name="New run").click()
        visitor.page.get_by_role("link", name="Create an agent").click()
        expect(visitor.page.get_by_role("link", name="Data analyst")).to_be_visible()

    def test_given_words_and_sub_agents_then_the_api_finds_them(
        self, site: WebServer, worker: Worker, workspace: Workspace
    ) -> None:
        caller = Caller(site, key_for(workspace))
        task = '[[delegate: {"agent": "writer", "task": "Sing of tides."}]]'
        run = caller.submit(task)["id"]
        caller.ended(run)

        def found(**query: Any) -> list[str]:
            return [row["agent"] for row in caller.get("/runs", **query).json()["runs"]]

        assert found() == ["orchestrator"]
        assert found(children=True) == ["writer", "orchestrator"]
        assert found(children=True, text="SING of") == ["writer", "orchestrator"]
        assert found(children=True, text="sing orchestra") == ["orchestrator"]
        assert found(children=True, text="of nothing sing") == []
        assert found(text="%") == []
        assert found(text=run[:13]) == ["orchestrator"]
        assert found(text="orchestra") == ["orchestrator"]
        assert caller.get("/runs", text="x" * 201).status_code == 422
        caller.http.close()


def lines(*updates: Update) -> list[dict[str, Any]]:
    """What a page's socket sends of run ``a``, which nothing was known of."""
    tree, found = TreeView(), []
    for update in (seen(Run(pk=A, agent="w", task="T")), *updates):
        view = tree.apply(update)
        if view is not None:
            found.append(to_json_line(update, tree.runs[A]) | {"view": view})
    return found


def event(seq: int, what: events.Event) -> EventUpdate:
    return EventUpdate(
        A, events.RecordedEvent(seq, datetime(2026, 1, 1, second=seq, tzinfo=UTC), what)
    )


def delta(offset: int, text: str, *, attempt: int = 1, kind: DeltaKind = "text") -> DeltaUpdate:
    return DeltaUpdate(A, Delta(1, attempt, offset, text, kind))


def answered(text: str) -> events.ModelAnswered:
    return events.ModelAnswered(1, AssistantMessage(text), Usage(2, 3), "stop", "m", 500)


@pytest.fixture
def store(signed_in: Visitor) -> Callable[[str, Any], Any]:
    """Runs a script with a ``store``, its run ``a`` and what it is ``given``."""
    signed_in.go("runs/")
    address = static("heartbit/web/run/store.js")

    def evaluate(script: str, given: Any) -> Any:
        return signed_in.page.evaluate(
            f"""async (given) => {{
              const {{ Store }} = await import("{address}");
              const store = new Store();
              const a = store.run("{A}");
              {script}
            }}""",
            given,
        )

    return evaluate


class TestTheStore:
    def test_given_a_new_attempt_and_all_of_it_again_then_the_text_is_the_last_attempts(
        self, store: Callable[[str, Any], Any]
    ) -> None:
        first = lines(delta(0, "Sun 🌞"), delta(0, "Sun 🌞"), delta(4, "🌞 up"))
        both = lines(
            delta(0, "Sun 🌞"),
            delta(0, "Mo", attempt=2),
            delta(8, "late"),
            delta(2, "on", attempt=2),
        )
        assert store(
            """const said = () => a.turns.get(1).text;
               return given.map((lines) => { store.take(lines); return said(); });""",
            [first, first, both],
        ) == ["Sun 🌞 up", "Sun 🌞 up", "Moon"]

    def test_given_thinking_and_a_gap_then_the_journaled_answer_replaces_all(
        self, store: Callable[[str, Any], Any]
    ) -> None:
        streamed = (delta(0, "Hm.", kind="thinking"), delta(3, "It "), delta(20, "end"))
        journaled = (event(1, events.RunCreated("T", "w")), event(2, answered("It is the end")))
        whole = lines(*streamed, *journaled)
        assert store(
            """store.take(given.slice(0, 4));
               const { text, thinking, gap } = a.turns.get(1);
               store.take(given); store.take(given);
               return [text, thinking, gap, a.turns.get(1).text, a.turns.get(1).gap, a.output,
                 a.priced, Object.values(store.after())];""",
            whole,
        ) == ["It …end", "Hm.", True, "It is the end", False, 3, False, [2]]

    def test_given_thinking_that_no_journal_keeps_then_it_is_folded_and_said_so(
        self, store: Callable[[str, Any], Any]
    ) -> None:
        address = static("heartbit/web/run/turns.js")
        assert store(
            f"""const {{ Turns }} = await import("{address}");
               const turns = new Turns(() => ({{ address: "#", agent: "w" }}));
               return given.map((line) => {{
                 store.take([line]);
                 turns.draw(a);
                 const [box, note] = ["details.thinking", ".thinking summary span:last-child"]
                   .map((one) => turns.element.querySelector(one));
                 const text = box?.querySelector("p").textContent;
                 return box && [box.hidden, box.open, text, note.hidden];
               }});""",
            lines(
                delta(0, "Hm", kind="thinking"),
                delta(2, "m.", kind="thinking"),
                event(1, answered("It is.")),
            ),
        ) == [
            None,
            [False, False, "Hm", True],
            [False, False, "Hmm.", True],
            [False, False, "Hmm.", False],
        ]

    def test_given_a_call_that_waits_and_lapses_then_all_parts_are_the_last_ones(
        self, store: Callable[[str, Any], Any]
    ) -> None:
        asked = events.ApprovalRequested("1.0", "t", {}, "pure", "d", "")
        approved = {"status": "approved", "by": "ann"}
        told = lines(
            event(1, events.RunStarted("w", "t", "m")),
            event(3, asked),
            event(6, events.WaitResolved("approval:1.0", approved, "approval", "1.0")),
            event(7, events.RunStarted("w", "t", "m")),
            event(8, events.ApprovalLapsed("1.0", "approval:1.0", "No.")),
            event(9, replace(asked, question=2)),
        )
        assert store(
            """store.take(given.slice(0, 5));
               const first = a.calls.get("1.0").decision.by;
               store.take(given);
               return [first, a.calls.get("1.0").decision, a.status, a.waits.map(({ key }) => key),
                 a.entries.map(({ note }) => `${note.title}: ${note.text}`),
                 [...a.spans.values()].map(({ kind, from, to }) =>
                   [kind, to && (to - from) / 1000])];""",
            told,
        ) == [
            "ann",
            None,
            "waiting",
            ["approval:1.0:2"],
            ["Did not run call 1.0: it needs a new approval: No."],
            [["person", 3], ["queue", 1], ["person", None]],
        ]

    def test_given_more_runs_than_a_frame_holds_then_a_page_names_the_longest(
        self, store: Callable[[str, Any], Any]
    ) -> None:
        after = store(
            """const id = (number) => "01a20000-0000-7000-8000-" + `${number}`.padStart(12, "0");
               for (let number = 0; number < 3000; number++)
                 store.take([{ type: "event", run_id: id(number), seq: number + 1, event: "x" }]);
               return store.after();""",
            None,
        )
        assert sorted(after.values()) == list(range(2001, 3001))
        frame = json.dumps({"type": "resume", "after": after}, separators=(",", ":"))
        assert len(frame) < MOST_BYTES


def test_given_lines_then_the_chat_says_what_is_done_and_has_the_steps_of_the_api(
    signed_in: Visitor,
) -> None:
    signed_in.go("chat/")
    address = static("heartbit/web/chat/live.js")
    calls = (ToolCall("c", "calculate", "{}"),)
    asked = events.ModelAnswered(1, AssistantMessage("So.", calls), Usage(2, 3), "tool", "m", 500)
    told = lines(
        event(1, events.RunStarted("w", "t", "m")),
        delta(0, "Hm.", kind="thinking"),
        delta(3, "So."),
        event(2, asked),
        event(3, events.ToolFinished("1.0", "ok", "42", "pure", 7)),
        event(4, events.RunSteered("Be brief.", "anna")),
        event(5, events.ModelDelayed(2, "timer:1", "The provider is busy.", 9)),
    )
    assert signed_in.page.evaluate(
        f"""async (given) => {{
          const {{ Told }} = await import("{address}");
          const told = new Told("{A}");
          const doing = given.map((line) => {{ told.store.take([line]); return told.doing; }});
          return [doing, told.steps.map((one) => one.kind === "call"
            ? [one.call_id, one.tool, one.status, one.result, one.duration_ms, one.children]
            : [one.kind, one.text, one.by])];
        }}""",
        told,
    ) == [
        [
            "Queued", "Asks the model", "Thinks", "Writes",
            "Runs calculate", "Asks the model", "Asks the model",
            "Is paused: The provider is busy.",
        ],
        [
            ["text", "So.", None], ["1.0", "calculate", "ok", "42", 7, []],
            ["steer", "Be brief.", "anna"],
        ],
    ]  # fmt: skip
