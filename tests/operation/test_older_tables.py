"""Tables made before the first release are refused with a sentence, and left as they are."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.first_start import EARLY, migrate_and_seed


@pytest.mark.django_db
@pytest.mark.parametrize("early", sorted(EARLY))
def test_given_tables_of_before_the_first_release_then_nothing_starts_and_a_sentence_says_why(
    early: tuple[str, str],
) -> None:
    MigrationRecorder(connection).record_applied(*early)
    with pytest.raises(ConfigurationError, match="before Heartbit's first release") as caught:
        migrate_and_seed()
    assert "HEARTBIT_STATE_DIR" in str(caught.value)


@pytest.mark.django_db
def test_given_tables_of_a_later_version_then_a_process_of_this_one_starts() -> None:
    MigrationRecorder(connection).record_applied("agents", "9999_of_a_later_version")
    assert migrate_and_seed() is None
