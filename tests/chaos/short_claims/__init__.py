"""An app whose workers die while they store passages, added by ``HEARTBIT_EXTRA_APPS``.

Their claims on documents are shorter than the product's, which are longer than a scenario.
"""

from __future__ import annotations

from typing import Final

CLAIM_SECONDS: Final = 10.0
#: Variable with the folder that has a file for each death that is still to come.
FOLDER: Final = "DYING_READERS_FOLDER"
BEFORE_COMMIT, AFTER_COMMIT = "passages-before-commit", "passages-after-commit"
