"""Soak at half the measured rate: ``python -m tests.chaos.soak --seconds 3600``."""

from __future__ import annotations

import argparse
import importlib
import json
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from tests.bench.endings import ended_with_children
from tests.chaos.report import table
from tests.installation import BUILD, installed

KILLS_APART = 60.0
#: Shorter ones show no growth of a few percent.
FITS_SECONDS = 900


def main() -> int:
    """Run the command; 1 when a figure drifts, a promise was broken, or nothing was proven."""
    parser = argparse.ArgumentParser(prog="tests.chaos.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="of load, after measuring")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    arguments = parser.parse_args()
    with installed({}):
        scenario = importlib.import_module("tests.chaos.soak.scenario")  # needs Django to be ready
        how = scenario.Size(
            arguments.seconds,
            a_second=None,
            kill_every=min(KILLS_APART, arguments.seconds / 4),
            fits=arguments.seconds >= FITS_SECONDS,
        )
        directory = Path(tempfile.mkdtemp(prefix="soak"))
        row = scenario.soak(how, seed=arguments.seed, directory=directory)
    (BUILD / "soak.json").write_text(json.dumps(row, indent=2) + "\n")
    sys.stdout.write(table([row]))
    if not row["pass"]:
        kept = shutil.copytree(directory, BUILD / "soak", dirs_exist_ok=True)
        sys.stdout.write(f"records: {kept.relative_to(BUILD.parent)}\n")
    shutil.rmtree(directory)
    return 0 if row["pass"] else 1


if __name__ == "__main__":
    with ended_with_children():
        sys.exit(main())
