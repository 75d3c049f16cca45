"""Tables made before the first release are refused with a sentence, and left as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from heartbit_site.backup.archive import ArchiveWriter
from heartbit_site.backup.errors import BackupError
from heartbit_site.backup.manifest import Manifest
from heartbit_site.backup.restore import restore_backup
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.doctor import services
from heartbit_site.first_start import EARLY, migrate_and_seed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.django_db
@pytest.mark.parametrize("early", sorted(EARLY))
def test_given_tables_of_before_the_first_release_then_nothing_starts_and_a_sentence_says_why(
    early: tuple[str, str],
) -> None:
    MigrationRecorder(connection).record_applied(*early)
    with pytest.raises(ConfigurationError, match="before Heartbit's first release") as caught:
        migrate_and_seed()
    assert "HEARTBIT_STATE_DIR" in str(caught.value)
    (check,) = services._migrations()
    assert (check.status, "HEARTBIT_STATE_DIR" in check.fix) == ("fail", True)


@pytest.mark.parametrize(("app", "name"), sorted(EARLY))
def test_given_a_backup_of_such_tables_then_it_is_refused_before_anything_is_written(
    app: str, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "early.tar"
    manifest = Manifest(
        heartbit="0.1.0",
        made_at=timezone.now(),
        postgres=180_000,
        extensions={},
        migrations={app: ["0001_initial", name]},
        keys=[],
        folders=[],
        parts={},
    )
    with ArchiveWriter(file) as archive:
        archive.finish(manifest)
    with pytest.raises(BackupError, match="before Heartbit's first release"):
        restore_backup(file)


@pytest.mark.django_db
def test_given_tables_of_a_later_version_then_a_process_of_this_one_starts() -> None:
    MigrationRecorder(connection).record_applied("agents", "9999_of_a_later_version")
    assert migrate_and_seed() is None
