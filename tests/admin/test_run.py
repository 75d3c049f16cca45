"""The run's pages: readable, harmless, cheap, and closed to writes other than a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from django.urls import reverse

from agents.actions.start_run import start_run
from agents.admin import queries
from agents.choices import RunStatus
from agents.models import AgentVersion, Run, RunEvent, WorkerHeartbeat
from heartbit_site.base.markdown import LONGEST
from tests.admin import rows

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

LIST = "/admin/agents/run/"


def page(run: Run) -> str:
    return reverse("admin:agents_run_change", args=[run.pk])


def listed(browser: Client, query: str = "") -> set[Any]:
    return {run.pk for run in browser.get(f"{LIST}{query}").context["cl"].result_list}


def test_a_runs_page_tells_its_story(browser: Client, workspace: Workspace) -> None:
    root, child = rows.tree(workspace)
    text = browser.get(page(root)).content.decode()
    for said in (
        "Because.",
        "Waits for delegate_task (1.0)",
        "Succeeded: researcher",
        "turn 2, ",
        "2 runs on one time line",
        "agent:researcher",
        "1 call without a price",
        f'href="{page(child)}"',
    ):
        assert said in text, said
    text = browser.get(page(child)).content.decode()
    for said in ("About to run http_request (1.0)", "Uncertain", "at_most_once", "Started by"):
        assert said in text, said


def test_what_a_model_wrote_is_shown_and_never_run(browser: Client, workspace: Workspace) -> None:
    _, child = rows.tree(workspace)
    text = browser.get(page(child)).content.decode()
    assert rows.HOSTILE not in text
    assert text.count("&lt;script&gt;alert(&#x27;from a model&#x27;)&lt;/script&gt;") >= 4


def test_an_answer_is_rendered_and_can_do_nothing(browser: Client, workspace: Workspace) -> None:
    _, child = rows.tree(workspace)
    answer = f"**Found** it\nhere. {rows.HOSTILE} [x](javascript:alert(1)) ![y](//evil.example/y)"
    Run.objects.filter(pk=child.pk).update(output=answer)
    text = browser.get(page(child)).content.decode()
    shown = text.partition('<div class="hb-markdown"')[2].partition("</div>")[0]
    assert "<strong>Found</strong> it\nhere." in shown
    for harm in ("<script", 'href="javascript', "<img"):
        assert harm not in shown
    Run.objects.filter(pk=child.pk).update(output="x" * (LONGEST + 5))
    assert "Its last 5 characters are left out here" in browser.get(page(child)).content.decode()


def test_an_event_of_a_newer_heartbit_is_shown_as_it_is(
    browser: Client, workspace: Workspace
) -> None:
    root, _ = rows.tree(workspace)
    RunEvent.objects.create(
        run=root, seq=root.last_seq + 1, type="run.teleported", payload={"to": "Mars"}
    )
    text = browser.get(page(root)).content.decode()
    assert "run.teleported" in text
    assert "Mars" in text


def test_a_long_journal_is_shown_in_pages(
    browser: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = rows.tree(workspace)
    monkeypatch.setattr(queries, "JOURNAL_PAGE", 3)
    first = browser.get(page(root)).context["page"]
    assert [line.seq for line in first.lines] == [1, 2, 3]
    second = browser.get(f"{page(root)}?after={first.newer}").context["page"]
    assert [line.seq for line in second.lines] == [4, 5, 6]
    assert browser.get(f"{page(root)}?after=nonsense").context["page"].after == 0


def test_the_list_leaves_sub_agents_out_until_asked(browser: Client, workspace: Workspace) -> None:
    root, child = rows.tree(workspace)
    assert root.pk in listed(browser)
    assert child.pk not in listed(browser)
    assert {root.pk, child.pk} <= listed(browser, "?runs=all")
    assert root.pk not in listed(browser, "?runs=children")
    assert child.pk in listed(browser, f"?q={str(child.pk)[:23]}")
    assert child.pk in listed(browser, "?runs=all&agent=researcher&status__exact=succeeded")
    assert root.pk not in listed(browser, "?runs=all&agent=researcher")


@pytest.mark.parametrize("model", [Run, AgentVersion, WorkerHeartbeat])
def test_what_the_runtime_writes_nobody_writes_here(
    browser: Client, workspace: Workspace, model: type[Model]
) -> None:
    rows.tree(workspace)
    name = f"admin:agents_{model._meta.model_name}"
    row = model._default_manager.order_by("-pk").first()
    assert row is not None
    for url in (
        reverse(f"{name}_add"),
        reverse(f"{name}_change", args=[row.pk]),
        reverse(f"{name}_delete", args=[row.pk]),
    ):
        assert browser.post(url, {"post": "yes"}).status_code == 403, url
    before = model._default_manager.count()
    chosen = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    browser.post(reverse(f"{name}_changelist"), chosen)
    assert model._default_manager.count() == before


def test_stop_asks_first_and_then_cancels(browser: Client, workspace: Workspace) -> None:
    run = Run.objects.get(pk=start_run(workspace, "Wait."))
    url = reverse("admin:agents_run_cancel", args=[run.pk])
    assert f'hx-get="{url}"' in browser.get(page(run)).content.decode()
    assert "cancelled with its sub-agents" in browser.get(url).content.decode()
    run.refresh_from_db()
    assert run.status == RunStatus.QUEUED
    response = browser.post(url, {"_form_submitted": "True"})
    assert response.headers["HX-Redirect"] == page(run)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    ended = browser.get(page(run)).content.decode()
    assert url not in ended
    assert "cancelled by root-of-tests" in ended


def test_stopping_needs_the_permission(guest: Client, workspace: Workspace) -> None:
    run = Run.objects.get(pk=start_run(workspace, "Wait."))
    url = reverse("admin:agents_run_cancel", args=[run.pk])
    assert guest.post(url, {"_form_submitted": "True"}).status_code == 403
    run.refresh_from_db()
    assert run.status == RunStatus.QUEUED


def test_the_page_of_a_live_run_asks_for_itself_until_the_end(
    browser: Client, workspace: Workspace
) -> None:
    run = Run.objects.get(pk=start_run(workspace, "Wait.", model=rows.MODEL))
    live = browser.get(page(run), headers={"HX-Request": "true"})
    assert "hx-trigger" in live.content.decode()
    assert "HX-Refresh" not in live.headers
    held = rows.Held(run.pk)
    held.record(rows.answer(1, "Done."))
    held.finish("Done.")
    ended = browser.get(page(run), headers={"HX-Request": "true"})
    assert ended.headers["HX-Refresh"] == "true"
    assert 'hx-trigger="every' not in browser.get(page(run)).content.decode()


def test_pages_cost_the_same_however_much_happened(
    browser: Client, workspace: Workspace, django_assert_max_num_queries: Any
) -> None:
    root, _ = rows.tree(workspace)
    for _ in range(10):
        rows.tree(workspace)
    for url, most in (
        (page(root), 15),
        (LIST, 10),
        (f"{LIST}?runs=all", 10),
        (reverse("admin:agents_agent_changelist"), 10),
        (reverse("admin:agents_workerheartbeat_changelist"), 9),
        (reverse("admin:agents_toolcall_changelist"), 9),
        (reverse("admin:index"), 18),
    ):
        with django_assert_max_num_queries(most):
            assert browser.get(url).status_code == 200
