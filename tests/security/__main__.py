"""Attack what guards: ``python -m tests.security --only S4,S6``; ``build/security.json`` has it.

Its rows have the form of ``build/chaos.json``. A scenario whose tests are missing does not pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.report import merge
from tests.chaos.report import table
from tests.security.scenarios import SCENARIOS
from tests.server_process import ROOT

_SECONDS = 900


def main() -> int:
    """Run the command; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(
        prog="tests.security", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--only", action="append", default=[], help="S4,S6; default: all")
    arguments = parser.parse_args()
    names = [name for part in arguments.only for name in part.split(",") if name]
    unknown = sorted(set(names) - set(SCENARIOS))
    if unknown:
        sys.stderr.write(f"unknown scenario {unknown[0]}; there are {', '.join(SCENARIOS)}\n")
        return 2
    rows = []
    for name in names or SCENARIOS:
        with tempfile.TemporaryDirectory() as place:
            found = Path(place) / "row.json"
            command = [sys.executable, "-m", "tests.security.play", name, str(found)]
            subprocess.run(command, cwd=ROOT, stdout=sys.stderr, timeout=_SECONDS, check=False)
            rows.append(json.loads(found.read_text()))
        merge(ROOT / "build" / "security.json", rows[-1:], keys=("scenario",))
        sys.stdout.write(table(rows[-1:]))
        sys.stdout.flush()
    return 0 if all(row["pass"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
