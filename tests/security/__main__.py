"""Attack what guards: ``python -m tests.security --only S4,S6``; ``build/security.json`` has it.

Its rows have the form of ``build/chaos.json``. A scenario whose tests are missing does not pass.
"""

from __future__ import annotations

import argparse
import sys

from tests.bench.report import merge
from tests.chaos.report import table
from tests.security.bounded import played
from tests.security.scenarios import SCENARIOS
from tests.server_process import ROOT


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
        rows.append(played(name))
        merge(ROOT / "build" / "security.json", rows[-1:], keys=("scenario",))
        sys.stdout.write(table(rows[-1:]))
        sys.stdout.flush()
    return 0 if all(row["pass"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
