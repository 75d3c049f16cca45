"""Run a module as `python -m` does, ended by the kernel when its parent ends.

    python -m heartbit_site.cli.child PARENT_PID MODULE ARGUMENTS...

So `heartbit up`, killed, leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Bind this process's life to its parent's and become the module."""
    parent, module = int(sys.argv[1]), sys.argv[2]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before this
        sys.exit(1)
    sys.argv = [module, *sys.argv[3:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
