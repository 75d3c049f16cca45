"""Results that are too long, of every kind of call: stored before the journal names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import DatabaseError

from agents.errors import JournalAwayError
from agents.models import Artifact, RunEvent
from agents.runtime.toolset import big_results
from heartbit_site.base import orm, reader_process
from heartbit_site.base.pictures import WithPictures
from heartbit_site.base.reader_process import MOST_OF_ONE
from heartbit_site.base.toolspec import Effect, spec_of
from tests.api.test_pictures import drawn
from tests.runs.holding import claimant, pool
from tests.runs.serving import serve

if TYPE_CHECKING:
    from uuid import UUID

    from agents.runs.claims import Claimant
    from agents.runs.pool import Pool
    from heartbit_site.base.models import Workspace

__all__ = ["claimant", "pool"]


def in_thread() -> list[int]:
    """Return a lot of numbers."""
    return list(range(20_000))


async def on_loop() -> list[int]:
    """Return a lot of numbers."""
    return list(range(20_000))


async def test_of_every_kind_of_call(workspace: Workspace, pool: Pool, claimant: Claimant) -> None:
    specs = [
        spec_of(function, name=f"{effect}_{function.__name__}", effect=effect)
        for function in (in_thread, on_loop)
        for effect in Effect
        if function is in_thread or effect is not Effect.TRANSACTIONAL
    ]
    run_id = await serve(workspace, pool, claimant, specs)

    def check() -> None:
        events = RunEvent.objects.filter(run_id=run_id, type="tool.finished")
        named = {event.payload["artifact"]: event.payload["content"] for event in events}
        stored = {row.name: row for row in Artifact.objects.filter(run_id=run_id)}
        assert len(stored) == len(specs)
        assert named.keys() == stored.keys()
        for name, content in named.items():
            assert len(content.encode()) <= 65_536
            assert name in content
            assert content[0] == "["
            assert content[-1] == "]"  # of the note, whose line no JSON has
            assert "\n[cut: " in content
            assert bytes(stored[name].content).startswith(b"[0,1,2")
            assert stored[name].content_type == "application/json"

    await orm.run_in_thread(check)


async def test_a_result_whose_artifact_cannot_be_written_is_not_journaled(
    workspace: Workspace, pool: Pool, claimant: Claimant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(_root: UUID) -> None:
        raise DatabaseError("the server closed the connection")

    monkeypatch.setattr(big_results, "stored_artifacts", unavailable)
    spec = spec_of(in_thread, name="act", effect=Effect.AT_MOST_ONCE)
    with pytest.raises(JournalAwayError):
        await serve(workspace, pool, claimant, [spec])

    def written() -> list[str]:
        rows = RunEvent.objects.filter(run__workspace=workspace).order_by("seq")
        return [row.type for row in rows]

    assert (await orm.run_in_thread(written))[-1] == "tool.started"


def photographed() -> WithPictures:
    """Take a picture."""
    return WithPictures("Taken.", (drawn(), b"no picture"))


async def test_pictures_of_a_result_are_stored_and_the_journal_has_their_addresses(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    effects = (Effect.PURE, Effect.TRANSACTIONAL)
    specs = [spec_of(photographed, name=f"shoot_{one}", effect=one) for one in effects]
    run_id = await serve(workspace, pool, claimant, specs)

    def check() -> None:
        found = RunEvent.objects.filter(run_id=run_id, type="tool.finished").order_by("seq")
        stored = Artifact.objects.filter(run_id=run_id)
        assert len(found) == 2
        for event in found:
            (address,) = event.payload["images"]
            assert address.removeprefix(f"artifact:{run_id}/") in {one.name for one in stored}
            assert event.payload["content"] == (
                "Taken.\n[Picture 2 of the result is no PNG, JPEG, GIF or WebP picture: send it as "
                "one of them.]"
            )

    await orm.run_in_thread(check)


async def test_pictures_of_results_count_in_the_share_of_their_workspace(
    workspace: Workspace, pool: Pool, claimant: Claimant
) -> None:
    spec = spec_of(photographed, name="shoot", effect=Effect.PURE)
    for _ in range(MOST_OF_ONE):
        assert reader_process._present.take(workspace.pk)
    try:
        run_id = await serve(workspace, pool, claimant, [spec])
    finally:
        for _ in range(MOST_OF_ONE):
            reader_process._present.release(workspace.pk)

    def check() -> None:
        event = RunEvent.objects.get(run_id=run_id, type="tool.finished")
        assert event.payload["content"].startswith("Taken.\n[")
        assert "busy with others" in event.payload["content"]
        assert not Artifact.objects.filter(run_id=run_id).exists()

    await orm.run_in_thread(check)
