"""An app whose workers die while they store memories, added by ``HEARTBIT_EXTRA_APPS``."""

#: Variable with the folder that has a file for each death that is still to come.
from __future__ import annotations

FOLDER = "DYING_FOLDER"
BEFORE_COMMIT, AFTER_COMMIT = "before-commit", "after-commit"
