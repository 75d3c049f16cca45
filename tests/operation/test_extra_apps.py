"""Tasks of an installation's own apps, on a real worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.celery import app
from tests.fleet import Worker, wait_until
from tests.operation import chores

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fleet import WireServer

QUEUE = "q-chores"


def test_a_worker_runs_the_tasks_of_extra_apps(
    database: None, wire_server: WireServer, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    with Worker(queues=QUEUE, environment={"HEARTBIT_EXTRA_APPS": chores.__name__}) as worker:
        app.send_task(f"{chores.__name__}.tasks.write_note", args=[str(note), "Milk."], queue=QUEUE)

        def left() -> bool:
            assert "unregistered task" not in worker.log.read_text()
            return note.exists()

        wait_until(left, seconds=30, what="the note")
    assert note.read_text() == "Milk."
