"""The way to a proxy (``tools.sandbox.proxy``), as it is found inside of the walls."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import Final

from tools.sandbox.languages import DIRECTORY, python

#: The socket, and a port of loopback that leads to it, as programs speak TCP to proxies.
SOCKET: Final = f"{DIRECTORY}/proxy"
PORT: Final = 3128
_URL: Final = f"http://127.0.0.1:{PORT}"
_ENVIRONMENT: Final = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _URL),
    "NODE_USE_ENV_PROXY": "1",
}
#: Certificates of public authorities, for TLS.
_AUTHORITIES: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted")


def way_out(proxy: Path | None) -> list[str]:
    """Return the arguments of bubblewrap that lead to a proxy's socket; none without one."""
    if proxy is None:
        return []
    words = ["--ro-bind", str(proxy), SOCKET]
    for place in _AUTHORITIES:
        words += ["--ro-bind-try", place, place]
    for name, value in _ENVIRONMENT.items():
        words += ["--setenv", name, value]
    return words


@functools.cache
def bridge() -> str:
    """Return the shell's command that opens the port; it has to precede the program."""
    source = (Path(__file__).parent / "inside" / "bridge.py").read_text()
    words = [python(), "-I", "-S", "-c", source, str(PORT), SOCKET]
    return f"{shlex.join(words)} </dev/null >/dev/null 2>&1 || exit 125; "
