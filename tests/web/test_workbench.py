"""The run's page as a workbench: panes, nothing that moves, turns to try again and compare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.templatetags.static import static
from playwright.sync_api import expect

from agents.models import Agent, Run
from tests.admin import rows
from tests.fleet import Worker, wait_until
from tests.operation.test_quarantine import quarantined
from tests.starts import start_run
from tests.web import labels
from tests.web.people import member

if TYPE_CHECKING:
    from uuid import UUID

    from playwright.sync_api import Locator, Page

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

TEAM = '[[delegate: {"agent": "writer", "task": "[[text: Prose.]]"}]] [[text: **All**.]]'
ASKED = 'Sum. [[calls: calculate {"expression": "6 * 7"}]] [[text: It is 42.]]'
SECTIONS = "\n\n".join(f"## Part {n}\n\n" + "The tide rises and falls. " * 40 for n in range(1, 9))
LONG = f"Write. [[text: # Tides\n\n{SECTIONS}\n\n```python\nprint(42)\n```]]"
SLOW = (
    "Write. [[stream: 20000]] [[chunks: 200]] [[text: The **first** part.\n\nThe second, "
    "which is long and takes a while to be written down by anybody at all.]]"
)
BRIEF = f"Write. [[stream: 2500]] [[chunks: 40]] [[text: {SECTIONS[:4000]}]]"
MOST_SHIFT = 0.05
#: What a page has moved by itself, since it was opened.
SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) sum += one.value;
  }).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum), 0)));
})"""


def ended(workspace: Workspace, task: str, agent: str = "writer", *, approve: bool = False) -> UUID:
    run = start_run(workspace, task, agent=agent, model="openai:fake", approve=approve)
    states = Run.objects.filter(pk=run, status="waiting" if approve else "succeeded")
    wait_until(states.exists, what="it ended or waits")
    return run


def box(part: Locator) -> dict[str, float]:
    found = part.bounding_box()
    assert found is not None
    return {side: found[side] for side in ("x", "y", "width", "height")}


def drawn(page: Page) -> None:
    """Wait until the socket has spoken and all is drawn."""
    expect(page.locator(".timeline a.line").first).to_be_visible()
    expect(page.locator("article.turn").first).to_be_attached()
    page.evaluate("document.fonts.ready")


class TestPanes:
    @pytest.mark.parametrize("width", [1200, 1440])
    def test_given_a_wide_window_then_each_pane_scrolls_by_itself(
        self, worker: Worker, visitors: Visitors, workspace: Workspace, width: int
    ) -> None:
        run = ended(workspace, LONG)
        visitor = visitors(user=member(workspace), width=width, height=700)
        page = visitor.page
        visitor.go(f"runs/{run}/")
        drawn(page)
        panes = [page.locator(one) for one in (".timeline", ".answer", ".inspector")]
        left, centre, right = (box(one) for one in panes)
        assert left["x"] + left["width"] <= centre["x"]
        assert centre["x"] + centre["width"] <= right["x"]
        assert min(left["width"], right["width"]) >= 220
        assert centre["width"] >= 400
        page.mouse.move(centre["x"] + 50, 400)
        page.mouse.wheel(0, 500)
        wait_until(lambda: page.evaluate("scrollY") > 200)
        assert box(panes[0])["y"] == left["y"], "pinned"
        assert box(panes[2])["y"] == right["y"], "pinned"
        assert box(panes[1])["y"] < centre["y"]
        at = page.evaluate("scrollY")
        page.mouse.move(right["x"] + 50, 400)
        page.mouse.wheel(0, 300)
        inspector = page.locator(".inspector")
        wait_until(lambda: inspector.evaluate("(one) => one.scrollTop") > 50)
        assert page.evaluate("scrollY") == at

    @pytest.mark.parametrize("width", [390, 1024])
    def test_given_less_room_then_there_is_one_column_and_the_answer_is_first(
        self, worker: Worker, visitors: Visitors, workspace: Workspace, width: int
    ) -> None:
        run = ended(workspace, TEAM, "orchestrator")
        visitor = visitors(user=member(workspace), width=width)
        visitor.go(f"runs/{run}/")
        drawn(visitor.page)
        parts = (".head", ".answer", ".timeline", ".inspector", ".steps")
        found = [box(visitor.page.locator(one).first) for one in parts]
        assert [one["y"] for one in found] == sorted(one["y"] for one in found)
        assert {round(one["width"]) for one in found} == {round(found[0]["width"])}
        assert visitor.page.evaluate("document.documentElement.scrollWidth") == width

    @pytest.mark.parametrize("width", [390, 1024, 1440])
    def test_given_a_page_that_loads_then_next_to_nothing_moves(
        self, worker: Worker, visitors: Visitors, workspace: Workspace, width: int
    ) -> None:
        runs = {
            "a team": ended(workspace, TEAM, "orchestrator"),
            "a long answer": ended(workspace, LONG),
            "a call that waits": ended(workspace, ASKED, "analyst", approve=True),
        }
        visitor = visitors(user=member(workspace), width=width)
        moved = {}
        for name, run in runs.items():
            visitor.go(f"runs/{run}/")
            drawn(visitor.page)
            moved[name] = visitor.page.evaluate(SHIFT)
        streams = start_run(workspace, BRIEF, agent="writer", model="openai:fake")
        visitor.go(f"runs/{streams}/")
        expect(visitor.page.locator(".head .pill")).to_have_text("Succeeded")
        drawn(visitor.page)
        moved["an answer that is written"] = visitor.page.evaluate(SHIFT)
        assert max(moved.values()) < MOST_SHIFT, moved

    def test_given_a_socket_that_says_nothing_then_the_page_is_useful(
        self, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = ended(workspace, TEAM, "orchestrator")
        page = signed_in.page
        page.route_web_socket(re.compile("/ws/"), lambda _: None)
        signed_in.go(f"runs/{run}/")
        expect(page.get_by_role("heading", name="orchestrator")).to_be_visible()
        expect(page.locator(".head .pill")).to_have_text("Succeeded")
        expect(page.locator(".task")).to_contain_text("delegate")
        expect(page.locator(".answer strong")).to_have_text("All")
        expect(page.locator("dl.facts").first).to_contain_text("orchestrator, version 1")
        page.get_by_text("On a command line").click()
        expect(page.get_by_text(f"heartbit status {run} --watch")).to_be_visible()


class TestTheAnswer:
    def test_given_a_long_answer_then_it_is_folded_with_an_outline_and_its_code_is_copied(
        self, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = ended(workspace, LONG)
        page = signed_in.page
        signed_in.context.grant_permissions(["clipboard-read", "clipboard-write"])
        signed_in.go(f"runs/{run}/")
        drawn(page)
        text = page.locator(".answer .markdown")
        folded = box(text)["height"]
        assert folded < 2 * 900
        outline = page.get_by_role("navigation", name="Outline")
        expect(outline.get_by_role("button")).to_have_count(9)
        outline.get_by_role("button", name="Part 8").click()
        expect(page.get_by_role("heading", name="Part 8")).to_be_in_viewport()
        assert box(text)["height"] > folded
        code = page.locator(".answer pre")
        expect(code).to_have_attribute("data-language", "python")
        page.get_by_role("button", name="Copy", exact=True).click()
        expect(page.locator(".note")).to_have_text("Copied.")
        assert page.evaluate("navigator.clipboard.readText()") == "print(42)\n"
        page.get_by_role("button", name="Show less").click()
        assert box(text)["height"] == folded

    def test_given_a_worker_that_dies_while_it_writes_then_the_page_says_so_and_goes_on(
        self, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        Agent.objects.filter(workspace=workspace, name="writer").update(queue="frail")
        page = signed_in.page
        with Worker(queues="frail") as frail:
            run = start_run(workspace, SLOW, agent="writer", model="openai:fake")
            signed_in.go(f"runs/{run}/")
            first = page.locator(".writing .part").first
            expect(first.locator("strong")).to_have_text("first")  # a finished block is rendered
            frail.kill()
            name = f":{frail.pid} died"
            expect(page.locator(".answer .hint")).to_contain_text(name, timeout=60_000)
            expect(page.locator(".answer .hint")).to_contain_text("begins again")
            lost = page.locator(".timeline .bar.lost").first
            expect(lost).to_have_attribute("title", re.compile(f"^lost work: .*{name}$"))
            expect(page.locator(".turns .aside")).to_contain_text("Back in the queue: worker lost")
            frail.start()
            expect(page.locator(".writing")).to_contain_text("The first part")
            page.get_by_role("button", name="Cancel").click()
            page.get_by_role("button", name="Cancel the run").click()
            expect(page.locator(".head .pill")).to_have_text("Cancelled")


class TestWords:
    def test_given_a_run_in_quarantine_then_its_sentence_and_its_number_agree(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = quarantined(workspace)
        signed_in.go(f"runs/{run.pk}/")
        page = signed_in.page
        expect(page.locator(".answer")).to_contain_text("Its workers crashed 1 time without")
        crashes = page.locator("dl.facts dt", has_text="Worker crashes").locator("+ dd")
        expect(crashes).to_have_text("1")
        expect(page.locator(".timeline .bar.lost").first).to_be_attached()

    def test_given_runs_that_wait_then_for_whom_is_said_in_words_and_signs(
        self, worker: Worker, visitors: Visitors, workspace: Workspace
    ) -> None:
        run = start_run(workspace, ASKED, agent="analyst", model="openai:fake", approve=True)
        wait_until(Run.objects.filter(pk=run, status="waiting").exists, what="it waits")
        for role, said in (("admin", "Waits for you"), ("viewer", "Waits for others")):
            visitor = visitors(user=member(workspace, role))
            visitor.go(f"runs/{run}/")
            expect(visitor.page.locator(".head .pill")).to_contain_text(said)
            expect(visitor.page.locator(".call .pill")).to_contain_text(said)


class TestTheTimeline:
    def test_given_a_wait_longer_than_the_work_then_it_is_a_break(self, signed_in: Visitor) -> None:
        signed_in.go("runs/")
        found: dict[str, Any] = signed_in.page.evaluate(
            """async (address) => {
              const { Scale, zoomed } = await import(address);
              const spans = [
                { kind: "model", from: 0, to: 1000 },
                { kind: "person", from: 1000, to: 3600000 },
                { kind: "tool", from: 3600000, to: 3601000 },
              ];
              const scale = new Scale(spans, 0, 3601000);
              const near = new Scale(spans, 0, 3601000, zoomed([0, 1], 4, 0));
              return {
                breaks: scale.breaks.map(({ from, to }) => [from, to]),
                places: [0, 1000, 3600000, 3601000].map((one) => Math.round(scale.at(one))),
                time: Math.round(scale.time(scale.at(500))),
                near: Math.round(near.at(500) / scale.at(500)),
                none: new Scale(spans.slice(0, 1), 0, 2000).breaks.length,
              };
            }""",
            static("heartbit/web/run/scale.js"),
        )
        assert found == {
            "breaks": [[1000, 3600000]],
            "places": [0, 46, 54, 100],
            "time": 500,
            "near": 4,
            "none": 0,
        }

    def test_given_keys_and_buttons_then_the_timeline_is_zoomed(
        self, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = ended(workspace, TEAM, "orchestrator")
        page = signed_in.page
        signed_in.go(f"runs/{run}/")
        drawn(page)
        bar = page.locator("a.line .bar.model").first
        whole = bar.evaluate("(one) => parseFloat(one.style.width)")
        page.get_by_role("button", name="Zoom in").click()
        assert bar.evaluate("(one) => parseFloat(one.style.width)") > 1.5 * whole
        page.get_by_role("region", name="Runs and steps").focus()
        page.keyboard.press("+")
        page.keyboard.press("0")
        assert bar.evaluate("(one) => parseFloat(one.style.width)") == whole


class TestTurns:
    def test_given_a_turn_then_its_link_opens_there(
        self, worker: Worker, signed_in: Visitor, workspace: Workspace
    ) -> None:
        run = ended(workspace, TEAM, "orchestrator")
        page = signed_in.page
        signed_in.context.grant_permissions(["clipboard-read", "clipboard-write"])
        signed_in.go(f"runs/{run}/")
        turn = page.get_by_label("Turn 2", exact=True)
        turn.get_by_role("button", name="Copy link").click()
        expect(page.locator(".note")).to_have_text("Copied.")
        link = page.evaluate("navigator.clipboard.readText()")
        assert link.endswith(f"/runs/{run}/#{run}/turns/2")
        page.goto("about:blank")
        page.goto(link)
        expect(turn).to_be_focused()

    def test_given_a_turn_when_its_result_is_changed_in_place_then_both_runs_are_compared(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        Agent.objects.filter(workspace=workspace).update(queue="by-hand")
        root, _ = rows.tree(workspace)
        page = signed_in.page
        signed_in.go(f"runs/{root.pk}/")
        turn = page.get_by_label("Turn 1", exact=True)
        turn.get_by_role("button", name=labels.FORK).click()
        form = turn.locator("form")
        form.get_by_label("Result of 1.0 delegate_task").fill("Nothing.")
        form.get_by_role("button", name="Fork", exact=True).click()
        page.get_by_role("link", name="compare the two").click()
        expect(page.get_by_role("heading", name="Two runs, side by side")).to_be_visible()
        fork = Run.objects.get(forked_from=root)
        for run in (root, fork):
            expect(page.get_by_role("link", name=str(run.pk)[:13])).to_be_visible()
        line = page.get_by_role("row", name="Turn 1")
        expect(line).to_contain_text("the same")
        expect(page.get_by_role("row", name="Turn 2")).to_contain_text("no such turn")
        for name in ("Tokens in", "Tokens out", "Cost", "Time"):
            expect(page.get_by_role("row", name=name)).to_be_visible()
