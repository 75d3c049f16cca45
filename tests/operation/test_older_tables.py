"""Tables of another version are refused with a sentence, and left as they are."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.first_start import migrate_and_seed


@pytest.mark.django_db
def test_given_a_migration_that_is_unknown_then_nothing_starts_and_the_sentence_names_it() -> None:
    MigrationRecorder(connection).record_applied("agents", "0007_functions")
    with pytest.raises(ConfigurationError, match=r"knows agents\.0007_functions\)") as caught:
        migrate_and_seed()
    assert "HEARTBIT_STATE" in str(caught.value)
