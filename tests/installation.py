"""An installation of a command's own, for ``python -m tests.bench`` and ``python -m tests.chaos``.

Importing this module sets the environment (``tests.environment``), so it comes before Django's.
"""

from __future__ import annotations

import importlib
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BUILD = Path(__file__).parents[1] / "build"


@contextmanager
def installed(settings: Mapping[str, str]) -> Iterator[None]:
    """Real servers, with migrated tables, and Django ready; all of it goes at the end.

    Args:
        settings: Environment variables that differ from ``tests.environment``'s.
    """
    os.environ.update(settings)
    os.environ["DJANGO_SETTINGS_MODULE"] = "heartbit_site.settings"
    try:
        state = importlib.import_module("heartbit_site.embedded.state").StateDirectory()
        importlib.import_module("tests.clusters").provide(state, safe=True)
        importlib.import_module("heartbit_site.bootstrap").prepare()
        yield
        importlib.import_module("heartbit_site.base.orm").close()
        importlib.import_module("django.db").connections.close_all()
    finally:
        environment.pytest_unconfigure()
