"""One play of ``full_disk``, in a process with mounts of its own, on an installation of its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

from tests import environment
from tests.installation import installed

MEGABYTES = 600


def main() -> None:
    """Mount, play, write the row."""
    size, seed, directory, row = sys.argv[1:]
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=755", "heartbit"]
    subprocess.run([*mount, str(environment.STATE)], check=True)
    with installed({}):
        scenario = importlib.import_module("tests.chaos.exhaustion.full_disk")  # it needs Django
        place = Path(directory)
        found = scenario.fill_and_judge(
            size, seed=int(seed), directory=place, disk=environment.STATE
        )
    subprocess.run(["umount", str(environment.STATE)], check=True)
    environment.STATE.rmdir()
    Path(row).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
