"""One scenario, in a process and an installation of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.security.scenarios import SCENARIOS
from tests.security.tally import Tally
from tests.server_process import ROOT


def main(name: str, target: Path) -> int:
    """Play it, write its row, and return pytest's exit code."""
    scenario = SCENARIOS[name]
    there = [test for test in scenario.tests if (ROOT / test.partition("::")[0]).exists()]
    tally = Tally()
    code = int(pytest.main(["-q", "--no-header", *there], plugins=[tally])) if there else 0
    row = tally.row(name, scenario.title, code=code)
    row["also"]["invalid"] += [f"{test} is not there" for test in set(scenario.tests) - set(there)]
    target.write_text(json.dumps(row))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
