"""The installation under test: loaded before Django's settings (``-p tests.environment``).

It has a state directory of its own, real servers in it, and no provider key but the fake one's.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

FOREIGN = (
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "REDIS_URL",
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "HEARTBIT_PROVIDER",
    "HEARTBIT_MODEL",
    "HEARTBIT_URL",
    "HEARTBIT_WORKSPACE",
    "HEARTBIT_API_KEY",
    "HEARTBIT_ENCRYPTION_KEYS",
)

for name in FOREIGN:
    os.environ.pop(name, None)

# Hundreds of processes import our modules: those after the first find them compiled.
# `tests.mutants` changes modules more often than Python would notice, and says ``-B``.
if "-B" not in sys.orig_argv:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False

# Short, because unix sockets live in it, and passable, because root's servers are another user's.
STATE = Path(tempfile.mkdtemp(prefix="hbt", dir="/tmp"))
STATE.chmod(0o755)
os.environ.update(
    HEARTBIT_STATE_DIR=str(STATE / "s"),
    HEARTBIT_EMBEDDED_IDLE_SECONDS="5",
    HEARTBIT_SECRET_KEY="not-a-secret-of-anybody",
    HEARTBIT_LEASE_SECONDS="5",
    HEARTBIT_SWEEP_SECONDS="1",
    HEARTBIT_LOCAL_MODEL_THREADS="1",
    HEARTBIT_API_RATE_LIMIT="0",
)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Stop the servers and remove what they left."""
    from heartbit_site.embedded import client  # noqa: PLC0415  after the environment is set
    from heartbit_site.embedded.state import StateDirectory  # noqa: PLC0415

    client.release()
    client.stop(StateDirectory(STATE / "s"))
    shutil.rmtree(STATE, ignore_errors=True)  # a process a failed test left may still write
