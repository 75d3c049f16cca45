"""What runs produce: listed and fetched over the API, and saved from a run's page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run
from agents.output.results import ArtifactOut
from agents.reads.artifacts import file_name
from heartbit_site.base.artifact_names import artifact_name
from tests.fleet import wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from playwright.sync_api import Download, Page

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker
    from tests.web.visitor import Visitor

HOSTILE = "<script>alert('from a model')</script>\n"
PAGE = {"agent": "writer", "task": f"Write. [[text: Here:\n```html\n{HOSTILE}```]]"}
TEAM = (
    f"Build it. [[delegate: {json.dumps(PAGE)}]]"
    " [[text: Run it:\n```python\nprint('42 °C')\n```\nand\n```../../etc\nx\n```]]"
)


def done(workspace: Workspace, task: str, agent: str) -> UUID:
    """A run that has succeeded."""
    run = start_run(workspace, task, agent=agent, model="openai:fake")
    wait_until(Run.objects.filter(pk=run, status="succeeded").exists, what="it succeeded")
    return run


def until(page: Page, condition: Callable[[], object]) -> None:
    """Wait for what the browser tells by itself."""
    for _ in range(500):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError("not within 10 s")


def listed(caller: Caller, run: UUID, **query: Any) -> list[tuple[str, str, str]]:
    rows = caller.get(f"/runs/{run}/artifacts", **query).json()["artifacts"]
    return [(row["agent"], row["name"], row["file"]) for row in rows]


def test_given_a_team_that_wrote_code_then_its_page_offers_each_piece_to_be_saved(
    worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    run = done(workspace, TEAM, "orchestrator")
    page = signed_in.page
    signed_in.go(f"runs/{run}/")
    card = page.get_by_role("region", name="Artifacts")
    rows = card.get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("code-1")
    expect(rows.nth(0)).to_contain_text("code, python")
    expect(rows.nth(0)).to_contain_text("16 bytes")
    saved: list[Download] = []
    page.on("download", lambda download: saved.append(download))
    for file, said in [("code-1.py", "print('42 °C')\n"), ("code-1.html by writer", HOSTILE)]:
        card.get_by_role("link", name=f"Download {file}", exact=True).click()
        until(page, lambda: saved)
        download = saved.pop()
        assert download.suggested_filename == file.split()[0]
        assert Path(download.path()).read_text() == said

    card.get_by_role("link", name="by writer", exact=True).click()
    expect(page.get_by_role("heading", name="writer")).to_be_visible()
    expect(rows).to_have_count(1)
    expect(rows).not_to_contain_text("by writer")


def test_given_a_run_that_wrote_none_then_its_page_has_no_such_card(
    worker: Worker, signed_in: Visitor, workspace: Workspace
) -> None:
    run = done(workspace, "Sing. [[text: La `la` la.]]", "writer")
    page = signed_in.page
    card = page.get_by_role("region", name="Artifacts")
    signed_in.go(f"runs/{run}/")
    expect(page.locator(".answer")).to_contain_text("La la la.")
    expect(page.get_by_role("region", name="Facts")).to_be_visible()
    expect(card).to_have_count(0)


def test_given_an_artifact_when_fetched_then_no_browser_would_show_or_run_it(
    caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    run = done(workspace, PAGE["task"], "writer")
    [row] = caller.get(f"/runs/{run}/artifacts").json()["artifacts"]
    assert row == {
        "run_id": str(run),
        "agent": "writer",
        "name": "code-1",
        "kind": "code",
        "language": "html",
        "file": "code-1.html",
        "size": len(HOSTILE),
    }
    answer = caller.get(f"/runs/{run}/artifacts/code-1")
    assert (answer.status_code, answer.text) == (200, HOSTILE)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="code-1.html"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    absent = caller.get(f"/runs/{run}/artifacts/code-2")
    assert (absent.status_code, absent.json()["code"]) == (404, "artifact_not_found")


def test_given_a_tree_when_listed_then_each_run_has_its_own_and_those_below(
    caller: Caller, worker: Worker, workspace: Workspace
) -> None:
    run = done(workspace, TEAM, "orchestrator")
    child = Run.objects.get(parent_id=run)
    below = [("writer", "code-1", "code-1.html")]
    whole = [
        ("orchestrator", "code-1", "code-1.py"),
        ("orchestrator", "code-2", "code-2.txt"),
        *below,
    ]
    assert listed(caller, run) == whole
    assert listed(caller, child.pk) == below
    found, cursor = [], None
    for _ in whole:
        page = caller.get(
            f"/runs/{run}/artifacts", limit=1, **({"cursor": cursor} if cursor else {})
        )
        found += [row["file"] for row in page.json()["artifacts"]]
        cursor = page.json()["next_cursor"]
    assert (found, cursor) == ([file for _, _, file in whole], None)


def test_given_a_run_that_has_not_ended_then_it_has_none_and_says_so(
    caller: Caller, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    run = start_run(workspace, "Wait.", agent="writer")
    assert listed(caller, run) == []
    early = caller.get(f"/runs/{run}/artifacts/code-1")
    assert (early.status_code, early.json()["code"]) == (409, "run_state")
    assert early.json()["detail"] == "The run is queued: it has artifacts once it has ended."


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("python", "code-1.py"),
        ("yml", "code-1.yaml"),
        ("", "code-1.txt"),
        ("exe", "code-1.txt"),
        ("../../x", "code-1.txt"),
        ('a";filename="b.exe', "code-1.txt"),
    ],
)
def test_given_what_a_model_calls_a_language_then_the_file_has_a_name_of_ours(
    language: str, file: str
) -> None:
    code = ArtifactOut(kind="code", name="code-1", content="x", language=language)
    assert file_name(code) == file


def test_a_file_that_a_call_stored_is_called_as_it_was_there() -> None:
    name = artifact_name("1.0", "492d5ea4" + "0" * 56, "sales report.csv")
    assert name == "1.0-492d5ea4-sales report.csv", "unique in the run"
    stored = ArtifactOut(kind="data", name=name, content="x", language="")
    assert file_name(stored) == "sales report.csv"


SCRIPT = """
await write(path='report/sales.csv', text='bike,sold')
await write(path='notes.txt', text='draft')
print(await shell(command="wc -c report/sales.csv; rm notes.txt; echo '<b>x</b>' > 'a b&c.html'"))
"""


def test_given_a_script_that_worked_in_the_folder_then_its_page_shows_output_and_files(
    worker: Worker, signed_in: Visitor, workspace: Workspace, caller: Caller
) -> None:
    coder = Agent.objects.create(
        workspace=workspace, name="coder", system_prompt="Code.", code_mode=True
    )
    for tool in ("write", "shell"):
        coder.bindings.create(tool=tool)
    publish_agent(coder)
    call = f"run_script {json.dumps({'script': SCRIPT})}"
    run = done(workspace, f"[[calls: {call}]] [[text: It is there.]]", "coder")
    page = signed_in.page
    signed_in.go(f"runs/{run}/")
    rows = page.get_by_role("region", name="Files").get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("a b&c.html")
    expect(rows.nth(1)).to_contain_text("report/sales.csv")
    expect(rows.nth(1)).to_contain_text("9 bytes")
    saved: list[Download] = []
    page.on("download", lambda download: saved.append(download))
    page.get_by_role("link", name="Download report/sales.csv", exact=True).click()
    until(page, lambda: saved)
    assert saved[0].suggested_filename == "sales.csv"
    assert Path(saved[0].path()).read_text() == "bike,sold"
    calls = page.locator("details.call")
    expect(calls).to_have_count(4)
    calls.nth(0).locator("summary").click()
    expect(calls.nth(0)).to_contain_text("9 report/sales.csv")

    answer = caller.http.get(f"/runs/{run}/files/content", params={"path": "a b&c.html"})
    assert (answer.status_code, answer.text) == (200, "<b>x</b>\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="a b&c.html"'
    gone = caller.http.get(f"/runs/{run}/files/content", params={"path": "notes.txt"})
    assert (gone.status_code, gone.json()["code"]) == (404, "work_file_not_found")
    listed = caller.get(f"/runs/{run}/files", limit=1).json()
    assert [row["path"] for row in listed["files"]] == ["a b&c.html"]
    rest = caller.get(f"/runs/{run}/files", cursor=listed["next_cursor"]).json()
    assert [(row["path"], row["size"]) for row in rest["files"]] == [("report/sales.csv", 9)]
