"""Measure workloads against the targets: ``python -m tests.bench --only W1,W2,W4``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from tests.bench import report
from tests.bench.workloads import WORKLOADS
from tests.installation import BUILD, installed

# As an installation has them, not as the tests do.
_SETTINGS = {"HEARTBIT_LEASE_SECONDS": "10", "HEARTBIT_SWEEP_SECONDS": "1"}


def main() -> int:
    """Run the command; 0 also when targets were missed: they are listed."""
    arguments = _arguments()
    names = [name for part in arguments.only for name in part.split(",") if name]
    unknown = sorted(set(names) - set(WORKLOADS))
    if unknown:
        sys.stderr.write(f"unknown workload {unknown[0]}; there are {', '.join(WORKLOADS)}\n")
        return 2
    with installed(_SETTINGS):
        session = importlib.import_module("tests.bench.session")  # needs Django to be ready
        plan = session.Plan(
            runs=arguments.runs,
            warm_up=arguments.warm_up,
            cost_runs=arguments.cost_runs,
            profile_seconds=arguments.profile_seconds,
        )
        rows = session.measure(names or list(WORKLOADS), plan)
    report.merge(BUILD / "bench.json", rows, keys=("workload", "path"))
    sys.stdout.write(report.table(rows))
    sys.stdout.writelines(json.dumps(row) + "\n" for row in rows)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--only", action="append", default=[], help="W1,W2,W4; default: all")
    parser.add_argument("--runs", type=int, default=60, help="measured runs a path")
    parser.add_argument("--warm-up", type=int, default=15, help="runs before them")
    parser.add_argument("--cost-runs", type=int, default=40, help="runs costs are averaged over")
    parser.add_argument(
        "--profile-seconds", type=float, default=10, help="profile of a missed target; 0: none"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
