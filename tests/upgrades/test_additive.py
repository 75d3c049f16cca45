"""Migrations after the first release add: the version before goes on beside the new one.

A release is installed process by process, so for minutes the old code works on the new tables, and
a rollback of the code needs no other tables. So nothing that a release has used goes, is renamed or
takes less than before. The way round is two releases: the first stops using it, the second lists it
in ``DROPPED`` with the first one's version (docs/contributing/release.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from django.apps import apps
from django.db import connection, migrations
from django.db.migrations.loader import MigrationLoader

from tests.upgrades import releases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.migrations.operations.base import Operation
    from django.db.migrations.state import ProjectState
    from django.db.models import Field

#: Ours; those of other packages are theirs to judge.
APPS: Final = ("agents", "base", "memory", "scheduling", "tools")
#: What later migrations drop, as "app.migration: Operation model.field", with the release since
#: which no code uses it.
DROPPED: Final[dict[str, str]] = {}
ADDING: Final = (
    migrations.CreateModel,
    migrations.AddIndex,
    migrations.RenameIndex,
    migrations.RemoveIndex,
    migrations.AddConstraint,
    migrations.RemoveConstraint,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RunSQL,
    migrations.RunPython,
)


def released() -> dict[str, set[str]]:
    """The migrations of the first release, by app."""
    found = releases.manifest_of(releases.kept()[0]).migrations
    return {app: set(found[app]) for app in APPS}


@pytest.fixture(scope="module")
def loader() -> MigrationLoader:
    return MigrationLoader(None)


@pytest.mark.parametrize("release", releases.kept(), ids=releases.version_of)
def test_released_migrations_stay(release: Path, loader: MigrationLoader) -> None:
    here = set(loader.disk_migrations)
    kept = {
        (app, name)
        for app, names in releases.manifest_of(release).migrations.items()
        if app in APPS
        for name in names
    }
    assert kept - here == set()


def test_later_ones_add(loader: MigrationLoader) -> None:
    found = [one for app in APPS for one in _narrowing(loader, app) if one not in DROPPED]
    assert found == [], "see the docstring of this file for the way round"


def _narrowing(loader: MigrationLoader, app: str) -> Iterator[str]:
    first = released()[app]
    names = sorted(name for label, name in loader.disk_migrations if label == app)
    for name in names:
        if name in first:
            continue
        state = loader.project_state((app, name), at_end=False)
        for operation in loader.disk_migrations[app, name].operations:
            for problem in _problems(operation, state, app):
                yield f"{app}.{name}: {problem}"
            operation.state_forwards(app, state)


def _problems(operation: Operation, state: ProjectState, app: str) -> Iterator[str]:
    kind = type(operation).__name__
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        for inner in operation.database_operations:
            yield from _problems(inner, state, app)
    elif isinstance(operation, migrations.AddField):
        field = operation.field
        # The old code does not name the column when it adds a row.
        if not (field.null or field.many_to_many or field.has_db_default()):
            yield f"{kind} {operation.model_name}.{operation.name} has no db_default"
    elif isinstance(operation, migrations.AlterField):
        before = state.models[app, operation.model_name_lower].fields[operation.name]
        yield from (
            f"{kind} {operation.model_name}.{operation.name} {why}"
            for why in _less(before, operation.field)
        )
    elif not isinstance(operation, ADDING):
        what = getattr(operation, "model_name", getattr(operation, "name", ""))
        field_name = getattr(operation, "name", "") if hasattr(operation, "model_name") else ""
        yield f"{kind} {what}.{field_name}".rstrip(".")


def _less(before: Field[Any, Any], after: Field[Any, Any]) -> Iterator[str]:
    """What a column no longer takes."""
    if before.db_type(connection) != after.db_type(connection):
        lengths = (before.max_length, after.max_length)
        both = type(before) is type(after) and None not in lengths
        if not both or (after.max_length or 0) < (before.max_length or 0):
            yield "has another type"
    if before.null and not after.null:
        yield "takes no null"
    if before.has_db_default() and not after.has_db_default() and not after.null:
        yield "has no db_default any more"


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (migrations.RemoveField("run", "task"), "RemoveField run.task"),
        (migrations.DeleteModel("Run"), "DeleteModel Run"),
        (migrations.RenameField("run", "task", "job"), "RenameField run"),
        (migrations.AlterModelTable("run", "runs"), "AlterModelTable run"),
    ],
    ids=str,
)
def test_what_takes_away_is_found(
    operation: Operation, words: str, loader: MigrationLoader
) -> None:
    state = loader.project_state(("agents", "0001_initial"))
    assert [one[: len(words)] for one in _problems(operation, state, "agents")] == [words]


def test_a_column_without_a_default_or_with_less_room_is_found(loader: MigrationLoader) -> None:
    state = loader.project_state(("agents", "0001_initial"))
    run = apps.get_model("agents", "Run")
    queue, cost = run._meta.get_field("queue").clone(), run._meta.get_field("woken_at").clone()
    queue.max_length, cost.null = 10, False
    shorter = migrations.AlterField("run", "queue", queue)
    fuller = migrations.AlterField("run", "woken_at", cost)
    bare = migrations.AddField(
        "run", "fresh", apps.get_model("agents", "Run")._meta.get_field("agent").clone()
    )
    found = [one for each in (shorter, fuller, bare) for one in _problems(each, state, "agents")]
    assert found == [
        "AlterField run.queue has another type",
        "AlterField run.woken_at takes no null",
        "AddField run.fresh has no db_default",
    ]
