"""Measure quality: ``python -m tests.evals [PART ...]``; ``build/evals.json`` has it.

Parts are ``recall``, ``extraction``, ``knowledge``, ``answers``, and ``tuning``, which is played
only if it is named.

1: words and meaning together find fewer of the held-out answers than one of them alone, by more
than chance in knowledge bases; or extraction stores what it must not, or too little.
"""

from __future__ import annotations

import importlib
import json
import sys

from tests.bench import report
from tests.installation import BUILD, installed

PARTS = ("recall", "extraction", "knowledge", "answers")


def main() -> int:
    """Run the command."""
    with installed({}):
        rows = []
        for part in sys.argv[1:] or PARTS:
            rows += importlib.import_module(f"tests.evals.{part}").measure()  # needs Django's apps
        falls_short = importlib.import_module("tests.evals.extraction").falls_short
    report.merge(BUILD / "evals.json", rows, keys=("name", "metric"))
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    worse = [
        row
        for row in rows
        if falls_short(row)
        or (" fused minus " in row["name"] and row["interval"][1] < 0)
        or (
            row["name"] == "recall, fused, held out"
            and row["metric"] == "recall@5"
            and row["value"] < row["baseline"]
        )
    ]
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
