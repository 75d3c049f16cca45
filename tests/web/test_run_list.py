"""The list of runs: its rows, pages, order, search, saved views, and the way back to it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from django.contrib.postgres.search import SearchQuery
from django.db import connection, transaction
from playwright.sync_api import expect

from agents.models import Agent, Run
from agents.models.run import WORDS
from heartbit_site.base.models import SavedView
from tests.clients import Client
from tests.starts import start_run
from tests.web import labels
from tests.web.people import member

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import User

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor


@pytest.fixture(autouse=True)
def parked(workspace: Workspace) -> None:
    """No worker takes the workspace's runs."""
    Agent.objects.filter(workspace=workspace).update(queue="nobody-serves-this")


def begun(workspace: Workspace, *tasks: str) -> list[UUID]:
    return [start_run(workspace, task, agent="writer") for task in tasks]


def ended(run: UUID, **columns: object) -> None:
    """Make a run one that has failed, with what else it has."""
    with connection.cursor() as cursor:  # past the triggers, which allow no such leap
        cursor.execute("SET session_replication_role = replica")
        Run.objects.filter(pk=run).update(
            **{"status": "failed", "finished_at": datetime.now(UTC), **columns}
        )
        cursor.execute("SET session_replication_role = DEFAULT")


def client_of(user: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def tasks_in(page: str) -> list[str]:
    return re.findall(r'task-line clip">([^<]*)<', page)


class TestWhatItShows:
    @pytest.fixture
    def client(self, workspace: Workspace) -> Client:
        return client_of(member(workspace))

    @pytest.fixture
    def show(self, client: Client, workspace: Workspace) -> Callable[..., str]:
        def shown(query: str = "") -> str:
            answer = client.get(f"/w/{workspace.slug}/runs/{query}")
            assert answer.status_code == 200, query
            return str(answer.content.decode())

        return shown

    def test_given_more_than_a_page_then_pages_follow_by_the_place_of_their_rows(
        self, show: Callable[..., str], workspace: Workspace
    ) -> None:
        begun(workspace, *(f"Task {n}" for n in range(35)))
        first = show()
        assert tasks_in(first) == [f"Task {n}" for n in range(34, 4, -1)]
        assert "35 runs" in first
        [following] = re.findall(r'href="[^"]*(\?[^"]*)" rel="next"', first)
        begun(workspace, "Newer")
        second = show(following.replace("&amp;", "&"))
        assert tasks_in(second) == [f"Task {n}" for n in range(4, -1, -1)]
        assert "First page" not in second
        assert "31 newer runs" in second
        assert "more than 30 runs" in show("?text=task")  # millions are not counted
        assert "1 run</span>" in show("?text=newer")
        dearest = show("?text=task&sort=-cost")
        assert len(tasks_in(dearest)) == 30

    def test_given_words_then_runs_with_all_of_them_anywhere_are_found(
        self, show: Callable[..., str], workspace: Workspace
    ) -> None:
        night, day, answered = begun(workspace, "The night report", "The day report", "Else")
        ended(night, error={"kind": "x", "message": "A bad `key`. Ask someone."})
        ended(
            answered,
            status="succeeded",
            output="It was a night of storms.",
            finished_at=datetime.now(UTC),
        )
        assert tasks_in(show("?text=night+bad")) == ["The night report"]
        assert tasks_in(show("?text=bad+NIGHT")) == ["The night report"]
        assert tasks_in(show("?text=storm")) == ["Else"]  # an unfinished last word
        assert tasks_in(show("?text=storm+night")) == []
        assert tasks_in(show("?text=writer+report")) == ["The day report", "The night report"]
        assert tasks_in(show(f"?text={str(day)[:13]}")) != []
        assert tasks_in(show(f"?text={day}")) == ["The day report"]
        for odd in ("'", "%27%5C", "%25", "z+%26+%7C+%21b", "%3A%2A", "%22"):
            assert tasks_in(show(f"?text={odd}")) == []
        assert 'error-line clip">A bad <code>key</code>.</span>' in show()

    def test_given_an_order_then_rows_are_sorted_and_its_heading_says_so(
        self, show: Callable[..., str], workspace: Workspace
    ) -> None:
        few, many, none = begun(workspace, "few", "many", "none")
        ended(few, input_tokens=5, created_at=datetime.now(UTC) - timedelta(hours=2))
        ended(many, input_tokens=500)
        assert tasks_in(show("?sort=-tokens")) == ["many", "few", "none"]
        assert tasks_in(show("?sort=tokens")) == ["none", "few", "many"]
        assert tasks_in(show("?sort=-duration"))[0] == "few"
        assert tasks_in(show("?sort=started")) == ["few", "many", "none"]
        assert len(tasks_in(show("?sort=-cost"))) == 3
        assert 'class="is-tokens" aria-sort="descending"' in show("?sort=-tokens")
        assert none

    def test_given_dates_then_days_of_the_reader_are_meant(
        self, show: Callable[..., str], client: Client, workspace: Workspace
    ) -> None:
        late, early = begun(workspace, "late", "early")
        # 23:30 UTC is half past twelve of the next day in Berlin.
        ended(late, created_at=datetime(2026, 11, 10, 23, 30, tzinfo=UTC))
        ended(early, created_at=datetime(2026, 11, 10, 22, 30, tzinfo=UTC))
        assert sorted(tasks_in(show("?since=2026-11-10&until=2026-11-10"))) == ["early", "late"]
        client.cookies["heartbit_zone"] = "Europe/Berlin"
        assert tasks_in(show("?since=2026-11-10&until=2026-11-10")) == ["early"]
        assert tasks_in(show("?since=2026-11-11&until=9999-12-31")) == ["late"]

    @pytest.mark.parametrize(
        "query", ["?status=bad", "?since=soon", "?until=9999-12-31", "?since=0001-01-01",
                  "?sort=agent", "?text=" + "x" * 201, "?agent=gone", "?text=a%00b"]
    )  # fmt: skip
    def test_given_an_address_that_cannot_be_read_then_the_page_says_what_is_wrong(
        self, show: Callable[..., str], query: str
    ) -> None:
        show(query)

    def test_given_a_cursor_of_no_list_then_the_first_page_is_shown(
        self, client: Client, workspace: Workspace
    ) -> None:
        for query in ("?cursor=x", "?cursor=x&sort=-cost"):
            answer = client.get(f"/w/{workspace.slug}/runs/{query}")
            assert answer.status_code == 302
            assert "cursor" not in answer["Location"]


def test_given_filters_and_an_order_then_the_api_takes_them_and_pages_follow(
    caller: Caller, workspace: Workspace
) -> None:
    first, second, third = begun(workspace, "first", "second", "third")
    ended(first, input_tokens=7, created_at=datetime(2026, 1, 1, tzinfo=UTC))

    def found(**query: object) -> list[str]:
        return [row["id"] for row in caller.get("/runs", **query).json()["runs"]]

    assert found(sort="-tokens", limit=1) == [str(first)]
    assert found(until="2026-02-01T00:00:00Z") == [str(first)]
    assert found(since="2026-02-01T00:00:00Z", sort="started") == [str(second), str(third)]
    page = caller.get("/runs", sort="-tokens", limit=2).json()
    assert found(sort="-tokens", cursor=page["next_cursor"]) == [str(second)]
    for wrong in ({"sort": "agent"}, {"since": "2026-02-01"}, {"sort": "cost", "cursor": "x"}):
        assert caller.get("/runs", **wrong).status_code in (400, 422), wrong


def test_given_words_then_the_search_reads_their_index(database: None) -> None:
    said = SearchQuery("night", config="simple")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = Run.objects.order_by().alias(words=WORDS).filter(words=said).explain()
    assert "Bitmap Index Scan on run_words" in plan


class TestSavedViews:
    def test_given_a_view_when_it_is_shared_then_others_see_it_and_only_owners_and_admins_delete_it(
        self, db: None, workspace: Workspace
    ) -> None:
        ada, ben, boss = (
            client_of(member(workspace, role)) for role in ("viewer", "operator", "admin")
        )
        path = f"/w/{workspace.slug}/runs/"
        for name, shared in (("Mine alone", {}), ("Failed ones", {"shared": "on"})):
            said = ada.post(
                f"{path}?status=failed&cursor=x", {"do": "save", "name": name, **shared}
            )
            assert said.status_code == 302
        assert [view.query for view in SavedView.objects.filter(workspace=workspace)] == [
            "status=failed"
        ] * 2
        assert "Mine alone" in ada.get(path).content.decode()
        seen = ben.get(path).content.decode()
        assert "Failed ones" in seen
        assert "Mine alone" not in seen
        view = SavedView.objects.get(workspace=workspace, is_shared=True)
        ben.post(path, {"do": "delete", "id": view.pk})
        assert "not yours" in ben.get(path).content.decode()
        boss.post(path, {"do": "delete", "id": view.pk})
        assert not SavedView.objects.filter(pk=view.pk).exists()
        for bad in ("", "x" * 61):
            ada.post(path, {"do": "save", "name": bad})
        assert SavedView.objects.filter(workspace=workspace).count() == 1

    def test_given_filters_then_a_person_saves_them_and_comes_back(
        self, signed_in: Visitor, workspace: Workspace
    ) -> None:
        begun(workspace, "One")
        page = signed_in.page
        signed_in.go("runs/?status=failed")
        page.get_by_text("Save this view").click()
        page.get_by_label("Name").fill("What failed")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("What failed is saved.")).to_be_visible()
        signed_in.go("runs/")
        expect(page.locator("table.runs tbody tr")).to_have_count(1)
        page.get_by_role("link", name="What failed").click()
        expect(page.get_by_text(labels.NO_RUNS)).to_be_visible()
        page.get_by_role("button", name="Delete the view What failed").click()
        expect(page.get_by_role("link", name="What failed")).to_have_count(0)


def test_given_a_run_that_was_opened_when_going_back_then_the_same_rows_are_at_the_same_place(
    signed_in: Visitor, workspace: Workspace
) -> None:
    begun(workspace, *(f"Task {n}" for n in range(30)))
    page = signed_in.page
    signed_in.go("runs/")
    row = page.get_by_text("Task 3", exact=True)
    row.scroll_into_view_if_needed()
    place = page.evaluate("scrollY")
    assert place > 0
    row.click()
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}/"))
    begun(workspace, "Newer 1", "Newer 2")
    page.go_back()
    expect(page.get_by_role("link", name="2 newer runs")).to_be_attached()
    assert page.locator(".task-line").first.inner_text() == "Task 29"
    page.wait_for_function("place => Math.abs(scrollY - place) < 2", arg=place)
    page.get_by_role("link", name="2 newer runs").click()
    expect(page.locator(".task-line").first).to_have_text("Newer 2")


def test_given_a_pointer_over_the_list_then_new_runs_are_announced_and_no_row_moves(
    signed_in: Visitor, workspace: Workspace
) -> None:
    begun(workspace, "One", "Two")
    page = signed_in.page
    rows = page.locator("table.runs tbody tr")
    signed_in.go("runs/")
    expect(rows).to_have_count(2)
    begun(workspace, "Three")
    expect(rows).to_have_count(3)  # nobody looks: it comes by itself
    row = rows.filter(has_text="Two")
    row.hover()
    place = row.bounding_box()
    begun(workspace, "Four")
    expect(page.get_by_role("button", name="1 new: show")).to_be_visible()
    assert row.bounding_box() == place
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="1 new: show").click()
    expect(rows).to_have_count(4)


def test_given_chosen_runs_then_those_that_live_are_cancelled_and_those_that_ended_retried(
    signed_in: Visitor, workspace: Workspace
) -> None:
    live, over = begun(workspace, "Live", "Over")
    ended(over)
    page = signed_in.page
    signed_in.go("runs/")
    page.get_by_label("Choose all").check()
    page.get_by_role("button", name="Retry 1 run").click()
    page.get_by_role("button", name="Retry them").click()
    expect(page.get_by_text("1 run was started again.")).to_be_visible()
    expect(page.locator("table.runs tbody tr")).to_have_count(3)
    assert Run.objects.get(pk=live).status == "queued"
    page.locator("tr", has_text="Live").get_by_role("checkbox").check()
    page.get_by_role("button", name="Cancel 1 run").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("1 run was asked to stop.")).to_be_visible()
    assert Run.objects.get(pk=live).status == "cancelled"


def test_given_a_viewer_who_sends_the_form_then_nothing_is_cancelled(
    db: None, workspace: Workspace
) -> None:
    [run] = begun(workspace, "Stay")
    answer = client_of(member(workspace, "viewer")).post(
        f"/w/{workspace.slug}/runs/", {"do": "cancel", "run": str(run)}, follow=True
    )
    assert "needs the role of operator" in answer.content.decode()
    assert Run.objects.get(pk=run).status == "queued"


@pytest.mark.parametrize("width", [1024, 1280])
def test_given_a_desk_then_every_column_is_readable(
    visitors: Visitors, workspace: Workspace, width: int
) -> None:
    begun(workspace, "Write a long report about the weather of the last year in Rome and Berlin")
    visitor = visitors(user=member(workspace), width=width)
    visitor.go("runs/")
    cells = visitor.page.locator("table.runs tbody tr td")
    expect(cells).to_have_count(7)
    shown = cells.evaluate_all("all => all.map((one) => [one.clientWidth, one.scrollWidth])")
    assert all(width >= content for width, content in shown[2:]), shown
    assert shown[1][0] >= 180, shown


def test_given_a_phone_then_a_row_is_two_lines(visitors: Visitors, workspace: Workspace) -> None:
    begun(workspace, "Write a long report about the weather of the last year in Rome and Berlin")
    visitor = visitors(user=member(workspace), width=390)
    visitor.go("runs/")
    row = visitor.page.locator("table.runs tbody tr")
    assert row.evaluate("row => row.clientHeight") < 72
    for text in ("writer", "queued", "Write a long"):
        expect(row.get_by_text(text).first).to_be_visible()
