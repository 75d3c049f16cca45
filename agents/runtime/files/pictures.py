"""Pictures of runs: stored as artifacts, and in messages only as their addresses.

An address is ``artifact:RUN/NAME``. The journal has addresses; ``agents.llm.wrappers.pictured``
replaces them right before a model is asked, so a fork or a later message of a conversation refers
to the run that was given the picture.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from django.db.models import Q

from agents.llm.wrappers.pictured import ADDRESS, ReadPictures
from agents.models import Artifact
from heartbit_site.base import orm
from heartbit_site.base.artifact_names import artifact_name
from heartbit_site.base.pictures import Picture

#: Replaces a call's id for pictures that a person gave at the run's start.
GIVEN: Final = "0"


def given_before(number: int) -> str:
    """Return what replaces a call's id for pictures of an earlier message of a client's thread."""
    return f"{GIVEN}.{number}"


def addresses_of(
    run_id: UUID, pictures: Sequence[Picture], call_id: str = GIVEN
) -> tuple[str, ...]:
    """Return the addresses of pictures of a run."""
    names = (row.name for row in _rows(run_id, pictures, call_id))
    return tuple(f"{ADDRESS}{run_id}/{name}" for name in names)


def store_pictures(run_id: UUID, pictures: Sequence[Picture], call_id: str = GIVEN) -> None:
    """Store pictures as artifacts of a run; storing them again changes nothing."""
    Artifact.objects.bulk_create(_rows(run_id, pictures, call_id), ignore_conflicts=True)


def split(addresses: Iterable[str]) -> list[tuple[UUID, str]]:
    """Return run and name of each address; data URLs are left out."""
    found = []
    for address in addresses:
        if address.startswith(ADDRESS):
            run, _, name = address.removeprefix(ADDRESS).partition("/")
            found.append((UUID(run), name))
    return found


def picture_reader(workspace_id: int) -> ReadPictures:
    """Return what reads pictures of a workspace's runs as data URLs, by address."""

    async def read(addresses: Collection[str]) -> dict[str, str]:
        return await orm.read_in_thread(partial(_read, workspace_id, addresses))

    return read


def _read(workspace_id: int, addresses: Collection[str]) -> dict[str, str]:
    wanted = Q(pk__in=[])
    for run_id, name in split(addresses):
        wanted |= Q(run=run_id, name=name)
    rows = Artifact.objects.filter(wanted, run__workspace=workspace_id)
    return {
        f"{ADDRESS}{row.run_id}/{row.name}": (
            f"data:{row.content_type};base64,{base64.b64encode(row.content).decode()}"
        )
        for row in rows
    }


def _rows(run_id: UUID, pictures: Sequence[Picture], call_id: str) -> list[Artifact]:
    rows = []
    for number, picture in enumerate(pictures, start=1):
        digest = hashlib.sha256(picture.content).hexdigest()
        rows.append(
            Artifact(
                run_id=run_id,
                name=artifact_name(call_id, digest, f"picture-{number}.{picture.ending}"),
                content_type=picture.media_type,
                content=picture.content,
                size=len(picture.content),
                sha256=digest,
            )
        )
    return rows
