"""The longest files begin first under pytest-xdist, and every stored file exists."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests import order
from tests.continuous.test_ci import PLAIN, XDIST

ROOT = Path(__file__).parents[2]


def test_given_stored_durations_then_the_longest_file_is_first_and_new_ones_before_short_ones() -> (
    None
):
    files = ["a", "b", "new", "c"]
    assert order.longest_first(files, {"a": 1.0, "b": 3.0, "c": 2.0}) == ["b", "new", "c", "a"]


def test_given_xdist_then_files_begin_in_that_order_and_durations_are_stored_anew(
    tmp_path: Path,
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        "import json\nfrom pathlib import Path\nfrom tests import order\n"
        "order.STORED = Path(__file__).with_name('durations.json')\n"
    )
    begin = "from pathlib import Path\ndef test_it():\n"
    begin += (
        "    with Path(__file__).with_name('log').open('a') as log: log.write(__name__ + ' ')\n"
    )
    for name in "abc":
        (tmp_path / f"test_{name}.py").write_text(begin)
    stored = tmp_path / "durations.json"
    stored.write_text(json.dumps({"test_a.py": 1, "test_b.py": 2, "test_c.py": 3, "gone.py": 9}))
    options = [*XDIST[:2], "-n", "1", "--dist", "loadfile", "--no-loadscope-reorder"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.order", *options, "--store-durations"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env=PLAIN,
    )
    assert (tmp_path / "log").read_text().split() == ["test_c", "test_b", "test_a"]
    assert json.loads(stored.read_text()).keys() == {"test_a.py", "test_b.py", "test_c.py"}


def test_given_a_file_that_is_gone_then_its_duration_goes_too() -> None:
    gone = [file for file in json.loads(order.STORED.read_text()) if not (ROOT / file).exists()]
    assert not gone, "make durations"
