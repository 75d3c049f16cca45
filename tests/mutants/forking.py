"""A process that has imported libraries, and forks pytest for each mutant: saves their imports.

Nothing of the repository is imported here, so each fork loads the mutated files itself. It stands
in the repository's copy, and Python's path begins there.

    python -B -P tests/mutants/forking.py <library> ...

Each line on its standard input is an order in JSON: pytest's ``arguments``, the file for its
``output`` and the ``seconds`` it may take. The answer is a line with pytest's exit code, or null if
it had to be killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
from typing import Any

import pytest


def answer(order: dict[str, Any]) -> None:
    """Run pytest in a fork, in a session of its own; tell how it ended."""
    child = os.fork()
    if not child:
        os.setsid()
        written = os.open(order["output"], os.O_WRONLY | os.O_CREAT)
        for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), written, written]):
            os.dup2(file, number)
        sys.argv = ["pytest", *order["arguments"]]
        sys.exit(pytest.main(order["arguments"]))
    handle = os.pidfd_open(child)
    in_time = False
    try:
        in_time = bool(select.select([handle], [], [], order["seconds"])[0])
    finally:
        os.close(handle)
        if not in_time:  # or interrupted by Ctrl-C
            os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stdout.write(json.dumps(code if in_time else None) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for library in sys.argv[1:]:
        importlib.import_module(library)
    gc.freeze()
    for line in sys.stdin:
        answer(json.loads(line))
