"""Check what Heartbit is made of: ``python -m tests.supply``.

Checks the lock against the stored advisories, and writes ``build/sbom.json``. With ``--refresh``,
asks the package index for newer advisories first; ``--refresh django,pillow`` for some releases.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime

from tests.supply import advisories
from tests.supply.bill import bill
from tests.supply.lock import ROOT, releases


def main() -> int:
    """Run the command; 1 if a pinned release has a known vulnerability."""
    parser = argparse.ArgumentParser(
        prog="tests.supply", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument("--refresh", nargs="?", const="", metavar="NAMES")
    given = parser.parse_args()
    pinned, today = releases(), datetime.now(UTC).date()
    stored = advisories.load()
    if given.refresh is not None:
        names = given.refresh.split(",") if given.refresh else list(pinned)
        unknown = sorted(set(names) - set(pinned))
        if unknown:
            parser.error(f"{unknown[0]} is not in requirements.lock")
        wanted = {name: pinned[name] for name in names}
        stored, problem = advisories.refresh(wanted, stored, advisories.ask_index, today=today)
        advisories.store(stored, {f"{name}=={version}" for name, version in pinned.items()})
        if problem:
            sys.stderr.write(f"advisories: {problem}\n")
    audit = advisories.check(pinned, stored)
    sys.stdout.write("".join(f"{one}\n" for one in (audit.sentence(today), *audit.found)))
    _write_bill(pinned)
    return 1 if audit.found else 0


def _write_bill(pinned: dict[str, str]) -> None:
    made = bill(pinned)
    path = ROOT / "build" / "sbom.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(made, indent=1) + "\n")
    known = sum("licenses" in one for one in made["components"])
    sys.stdout.write(
        f"sbom: {len(pinned)} releases, {known} with a licence: {path.relative_to(ROOT)}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
