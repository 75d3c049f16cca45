"""Check the sandbox from inside, and print ``held`` if every restriction is in force.

It needs only the standard library and runs without any of Heartbit's code. In its folder, the file
``hidden`` lists paths that must not exist and ``usual`` lists environment variables that may exist,
one per line.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

_VSOCK = 40
_USUAL = {
    *("PATH", "PWD", "OLDPWD", "SHLVL", "HOME", "TMPDIR", "TERM", "LANG", "PYTHONPATH"),
    *("HOSTNAME", "_"),
}


def _open_ways() -> list[str]:
    usual = {*_USUAL, *Path("usual").read_text().split(), ""}
    found = [path for path in Path("hidden").read_text().split() if Path(path).exists()]
    devices = Path("/proc/net/dev").read_text().splitlines()[2:]
    found += [name for name in (one.split(":")[0].strip() for one in devices) if name != "lo"]
    with contextlib.suppress(PermissionError):
        entries = Path("/proc/1/environ").read_text().split("\0")
        found += sorted({entry.partition("=")[0] for entry in entries} - usual)
    if os.getuid() == 0:
        found.append("root")
    try:
        socket.socket(_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return found
    return [*found, "sockets of the host"]


ways = _open_ways()
if ways:
    sys.exit(f"open: {', '.join(ways)}"[:300])
sys.stdout.write("held\n")
