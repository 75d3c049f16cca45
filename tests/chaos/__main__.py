"""Prove promises under faults: ``python -m tests.chaos --only R1,R3 --size small --seed 7``."""

from __future__ import annotations

import argparse
import importlib
import json
import secrets
import sys

from tests.bench.endings import ended_with_children
from tests.bench.report import merge
from tests.chaos.report import table
from tests.installation import BUILD, installed


def main() -> int:
    """Run the command; 1 when a promise was broken or a scenario proved nothing."""
    parser = argparse.ArgumentParser(prog="tests.chaos", description=(__doc__ or "").split(":")[0])
    parser.add_argument("--only", action="append", default=[], help="R1,R15; default: all")
    parser.add_argument("--size", choices=("small", "full"), default="full")
    parser.add_argument("--runs", type=int, help="of R1; default: its size's")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    arguments = parser.parse_args()
    names = [name for part in arguments.only for name in part.split(",") if name]
    with installed({}):
        session = importlib.import_module("tests.chaos.session")  # needs Django to be ready
        unknown = sorted(set(names) - set(session.SCENARIOS))
        if unknown:
            known = ", ".join(session.SCENARIOS)
            sys.stderr.write(f"unknown scenario {unknown[0]}; there are {known}\n")
            return 2
        if not names:
            names = [name for name in session.SCENARIOS if name not in session.WHEN_NAMED]
            for name in sorted(session.WHEN_NAMED):
                sys.stderr.write(f"chaos: {name} runs when named: make chaos ONLY={name}\n")
        sys.stderr.write(f"chaos: seed {arguments.seed}\n")
        rows = []
        for row in session.play(
            names,
            size=arguments.size,
            seed=arguments.seed,
            runs=arguments.runs,
        ):
            rows.append(row | {"size": arguments.size})
            merge(BUILD / "chaos.json", rows[-1:], keys=("scenario",))
            sys.stdout.write(table(rows[-1:]))
            sys.stdout.flush()
    sys.stdout.writelines(json.dumps(row) + "\n" for row in rows)
    failed = [row for row in rows if not row["pass"]]
    if failed:
        # Once more at the end: of a long output, that is what people see.
        sys.stdout.write(table(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    with ended_with_children():
        sys.exit(main())
