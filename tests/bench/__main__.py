"""Measure against the targets: ``python -m tests.bench --only W1,W7``; 1 when one is missed."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import sys
from typing import Any

from tests.bench import plan, report
from tests.bench.endings import ended_with_children
from tests.bench.names import NAMES
from tests.bench.rounds import Rounds
from tests.installation import BUILD, installed

# As an installation has them, not as the tests do.
_SETTINGS = {
    "HEARTBIT_LEASE_SECONDS": "10",
    "HEARTBIT_SWEEP_SECONDS": "1",
    "HEARTBIT_EXTRA_APPS": "tests.bench.toolbox",
}


def main() -> int:
    """Run the command; 0: all targets held, 1: one was missed, 2: it was called wrongly."""
    arguments = _arguments()
    names = [name for part in arguments.only for name in part.split(",") if name]
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.stderr.write(f"unknown measurement {unknown[0]}; there are {', '.join(NAMES)}\n")
        return 2
    sizes = plan.QUICK if arguments.quick else plan.Plan()
    given = {
        field.name: value
        for field in dataclasses.fields(sizes)
        if (value := getattr(arguments, field.name)) is not None
    }
    sizes = dataclasses.replace(sizes, **given)
    rounds = Rounds()
    with ended_with_children(), installed(_SETTINGS):
        session = importlib.import_module("tests.bench.session")  # needs Django to be ready
        try:
            for _ in range(sizes.rounds):
                for row in session.measure(names or NAMES, sizes):
                    _keep(rounds.add(row).to_json() | {"quick": arguments.quick})
                sizes = dataclasses.replace(sizes, cost_runs=0, profile_seconds=0)
        finally:  # what is known is told, also when a later measurement could not be made
            sys.stdout.write(report.tables(rounds.rows()))
    return 0 if all(row.passed for row in rounds.rows()) else 1


def _keep(found: dict[str, Any]) -> None:
    """Write a row down at once."""
    report.merge(BUILD / "bench.json", [found], keys=("workload", "path"))
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench", description=(__doc__ or "").split(":")[0])
    parser.add_argument(
        "--only", action="append", default=[], help=f"of {','.join(NAMES)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: whether it works")
    for field in dataclasses.fields(plan.Plan):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(field.default),
            help=f"default: {field.default:g}",
        )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
