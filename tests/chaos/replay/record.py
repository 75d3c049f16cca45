"""Make runs of all shapes on the real runtime, and keep their journals as test data.

python -m tests.chaos.replay.record      writes journals-<today>.jsonl.gz beside this file
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.installation import installed

MOST_BYTES = 300_000


def main() -> int:
    """Record, and write one file."""
    with tempfile.TemporaryDirectory(prefix="replay") as directory, installed({}):
        # These need Django to be ready.
        processes = importlib.import_module("tests.chaos.processes")
        fleet = importlib.import_module("tests.fleet")
        with (
            fleet.WireServer() as wire,
            processes.EffectsServer(ledger=Path(directory) / "effects.jsonl") as effects,
        ):
            os.environ["OPENAI_BASE_URL"] = wire.url
            os.environ["OPENAI_API_KEY"] = "test"
            os.environ["CHAOS_EFFECTS_URL"] = effects.url
            importlib.import_module(
                "django.conf"
            ).settings.HEARTBIT_HTTP_ALLOWLIST = effects.url.removeprefix("http://")
            recorder = importlib.import_module("tests.chaos.replay.recorder")
            journals = asyncio.run(recorder.record(effects.url))
        kept = importlib.import_module("tests.chaos.replay.kept")
        path = kept.HERE / f"journals-{datetime.now(UTC):%Y-%m-%d}.jsonl.gz"
        kept.save(path, journals)
    points = sum(len(each.points) for each in journals)
    size = path.stat().st_size
    sys.stdout.write(f"{path.name}: {len(journals)} journals, {points} points, {size} bytes\n")
    return 0 if size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
