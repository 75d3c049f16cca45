"""Make a small installation with the version in this checkout, and keep its backup.

    python -m tests.upgrades.make            writes releases/VERSION.tar.gz
    python -m tests.upgrades.make --force    replaces it

It has agents, a run that has ended, a run whose sub-agent waits for a person, a conversation, a
schedule, a memory, a value of the state store and a secret. All of it is made by commands.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import shutil
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.installation import installed

if TYPE_CHECKING:
    from tests.elsewhere import Elsewhere

SECONDS: Final = 120.0
_TASK: Final = {"agent": "careful", "task": "[[calls: current_time {}]] [[text: Noon.]]"}
_DELEGATE: Final = f"[[delegate: {json.dumps(_TASK)}]] [[text: All done.]]"


def main() -> int:
    """Make it; 1 if it is too large to keep."""
    parser = argparse.ArgumentParser(prog="tests.upgrades.make", description=__doc__)
    parser.add_argument("--force", action="store_true", help="replace the one that is there")
    arguments = parser.parse_args()
    with installed({}):  # `tests.fleet` needs Django to be ready
        releases = importlib.import_module("tests.upgrades.releases")
        path = releases.KEPT / f"{metadata.version('heartbit')}.tar.gz"
        if path.exists() and not arguments.force:
            sys.stderr.write(f"{path} is there already: add --force to replace it.\n")
            return 2
        fleet = importlib.import_module("tests.fleet")
        place = importlib.import_module("tests.elsewhere")
        with (
            fleet.WireServer() as wire,
            place.other_machine(
                OPENAI_BASE_URL=wire.url, OPENAI_API_KEY="test", **releases.KEYS
            ) as there,
        ):
            _fill(there, releases.DEFINITIONS)
            backup = there.directory / "backup.tar"
            _do(there, "backup", str(backup))
            _compress(backup, path)
    size = path.stat().st_size
    sys.stdout.write(f"{path}: {size:,} bytes\n")
    return 0 if size <= releases.MOST_BYTES else 1


def _fill(there: Elsewhere, definitions: Path) -> None:
    _do(there, "config", "import", str(definitions))
    _do(there, "state", "set", "greeting", '"hello"')
    _do(there, "memory", "add", "The office opens at nine.", "--scope", "workspace")
    _do(
        there,
        "provider-accounts",
        "add",
        "anthropic",
        "--key-stdin",
        "--disable",
        said="sk-made-up-key",
    )
    thread = _do(there, "conversations", "add", "--agent", "clerk").json["id"]
    with there.process("serve"):
        ended = _do(there, "submit", "[[text: Done.]]", "--agent", "clerk").json["id"]
        _wait(there, ended, "succeeded")
        waiting = _do(there, "submit", _DELEGATE, "--agent", "lead").json["id"]
        _wait(there, waiting, "waiting")
        while not there.rows("SELECT 1 FROM agents_wait WHERE asks_person AND resolved_at IS NULL"):
            time.sleep(0.2)
        posted = _do(there, "conversations", "post", thread, "[[text: Hello.]]").json["id"]
        _wait(there, posted, "succeeded")


def _wait(there: Elsewhere, run: str, status: str) -> None:
    until = time.monotonic() + SECONDS
    while there.row("SELECT status FROM agents_run WHERE id = %s", run) != (status,):
        if time.monotonic() > until:
            raise AssertionError(f"run {run} is not {status}: {there('runs', 'show', run).out}")
        time.sleep(0.2)


def _do(there: Elsewhere, *words: str, said: str = "") -> Any:
    ended = there(*words, "--json", said=said)
    if ended.code:
        raise AssertionError(f"{' '.join(words)}: {ended.err}")
    return ended


def _compress(backup: Path, path: Path) -> None:
    # Without a time and a name: the same content is the same file.
    with (
        backup.open("rb") as source,
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=0) as target,
    ):
        shutil.copyfileobj(source, target)


if __name__ == "__main__":
    sys.exit(main())
