"""Results that are delivered as files of the workspace's drive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.deliver_results import deliver_results
from agents.models import Delivery
from tests.delivery.orders import ended, make_due, row_of
from tools.connectors.drive.folder import workspace_drive

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace

REPORT = {"kind": "drive", "file": "reports/{agent}-{date}.md"}


def content(workspace: Workspace, name: str) -> str:
    return workspace_drive(workspace.pk).read_whole(name).decode()


def test_an_answer_becomes_a_file_and_a_crash_writes_it_once(
    alone: Workspace, settings: Settings, tmp_path: Path
) -> None:
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    run = ended(alone, [REPORT], output="# Sales\n\nUp.")
    assert run.finished_at is not None
    name = f"reports/writer-{run.finished_at:%Y-%m-%d}.md"
    assert deliver_results() == 1
    assert content(alone, name) == "# Sales\n\nUp.\n"
    # As if the worker had crashed between the file and the commit.
    Delivery.objects.filter(run_id=run.pk).update(status="pending", delivered_at=None)
    make_due(run)
    assert deliver_results() == 1
    assert [entry.name for entry in workspace_drive(alone.pk).list_below("")] == [name]


def test_a_file_of_other_content_is_replaced_only_if_asked(
    alone: Workspace, settings: Settings, tmp_path: Path
) -> None:
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    latest: dict[str, Any] = {"kind": "drive", "file": "latest.md"}
    ended(alone, [latest], output="First.")
    assert deliver_results() == 1
    refused = ended(alone, [latest], output="Second.")
    assert deliver_results() == 0
    row = row_of(refused)
    assert (row.status, row.error) == (
        "failed",
        "latest.md exists with different content: choose another name, or set replace.",
    )
    assert content(alone, "latest.md") == "First.\n"
    ended(alone, [{**latest, "replace": True}], output="Third.")
    assert deliver_results() == 1
    assert content(alone, "latest.md") == "Third.\n"


def test_a_run_without_an_answer_writes_nothing(
    alone: Workspace, settings: Settings, tmp_path: Path
) -> None:
    settings.HEARTBIT_DRIVE_DIR = str(tmp_path)
    run = ended(alone, [REPORT], output="")
    assert deliver_results() == 0
    assert row_of(run).error == "The run ended without an answer that could be stored."
    assert not list(tmp_path.iterdir())
