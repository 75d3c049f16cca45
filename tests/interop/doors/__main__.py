"""Drive Heartbit with each client, and write a row for each; 1 when one could not do its part."""

from __future__ import annotations

import argparse
import importlib
import sys

from tests.bench.endings import ended_with_children
from tests.installation import installed


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tests.interop.doors", description=__doc__)
    parser.add_argument("--only", default="", help="drive clients whose name has this in it")
    wanted = parser.parse_args().only
    with ended_with_children(), installed({}):
        session = importlib.import_module("tests.interop.doors.session")  # needs Django to be ready
        return int(session.drive(wanted))


if __name__ == "__main__":
    sys.exit(main())
