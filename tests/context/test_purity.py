"""Context, output, payload and results stand alone: no Django, no Celery, no servers."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = (
    "agents.context.apply",
    "agents.context.summary",
    "agents.output.check",
    "agents.output.payload",
    "agents.output.results",
)
LOADED = "import sys, {0}; print(*sorted(set(m.partition('.')[0] for m in sys.modules)))"


@pytest.mark.parametrize("module", MODULES)
def test_given_a_fresh_process_then_importing_loads_no_framework(module: str) -> None:
    command = [sys.executable, "-c", LOADED.format(module)]
    loaded = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    assert not {"django", "celery", "kombu", "channels", "redis", "psycopg"} & set(loaded)
