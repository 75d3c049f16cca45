"""Measure quality: ``python -m tests.evals``; ``build/evals.json`` has it.

1: recall by words and meaning finds fewer of the held-out answers than one of them alone.
"""

from __future__ import annotations

import importlib
import json
import sys

from tests.bench import report
from tests.installation import BUILD, installed


def main() -> int:
    """Run the command."""
    with installed({}):
        recall = importlib.import_module("tests.evals.recall")  # needs Django to be ready
        rows = list(recall.measure())
    report.merge(BUILD / "evals.json", rows, keys=("name", "metric"))
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")
    worse = [
        row
        for row in rows
        if "fused, held out" in row["name"]
        and row["metric"] == "recall@5"
        and row["value"] < row["baseline"]
    ]
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
