"""Sandbox of an MCP server's program, with the exceptions of its line of ``HEARTBIT_MCP_COMMANDS``.

Words before the program that start with a plus are exceptions: ``+host=NAME``, ``+read=PATH``,
``+write=PATH``, or ``+open`` for no sandbox at all.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.sandbox.program import MEGABYTE
from tools.sandbox.walls import bridge, bubblewrap, machine, scratch, way_out


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A program as an administrator allowed it.

    Attributes:
        words: The program and its arguments.
        hosts: Names of the hosts that it may reach.
        read: Paths that it may read, in addition to those among its words.
        write: Paths that it may write.
        is_open: True if it runs without a sandbox.
    """

    words: tuple[str, ...]
    hosts: tuple[str, ...]
    read: tuple[str, ...]
    write: tuple[str, ...]
    is_open: bool


def read_line(line: Sequence[str]) -> ProgramLine:
    """Parse a line, which was validated when the variable was read."""
    openings = []
    words = list(line)
    while words and words[0].startswith("+"):
        openings.append(words.pop(0))

    def named(kind: str) -> tuple[str, ...]:
        begin = f"+{kind}="
        return tuple(one.removeprefix(begin) for one in openings if one.startswith(begin))

    return ProgramLine(
        tuple(words),
        hosts=tuple(host.lower() for host in named("host")),
        read=named("read"),
        write=named("write"),
        is_open="+open" in openings,
    )


_SCRATCH: Final = 64 * MEGABYTE
#: Configuration of the machine that programs read and that holds no personal data.
_USUAL: Final = ("/etc/localtime", "/etc/timezone", "/etc/alternatives", "/etc/mime.types")
_MODULES: Final = "node_modules"
_BASE: Final = re.compile(r"^home[ \t]*=(.+)$", re.MULTILINE)


def walled(line: ProgramLine, *, home: str, filter_file: int, proxy: Path | None) -> list[str]:
    """Return the command that starts a program in the sandbox.

    It can read the machine's programs and the paths of its line, and write to its home and the
    paths that the line allows. Its only network access is the proxy.

    Args:
        line: The program and its exceptions.
        home: Its home directory.
        filter_file: Descriptor of the filter of system calls.
        proxy: Socket that leads to the line's hosts; None if it has no hosts.

    Raises:
        SandboxError: bubblewrap is not installed.
    """
    words = [
        *(bubblewrap(), "--unshare-all", "--unshare-user", "--disable-userns"),
        *("--hostname", "mcp", "--die-with-parent", "--cap-drop", "ALL"),
        *machine(),
        *scratch(_SCRATCH),
    ]
    for usual in _USUAL:
        words += ["--ro-bind-try", usual, usual]
    for place in dict.fromkeys(_visible(line)):
        words += ["--ro-bind", place, place]
    for place in line.write:
        words += ["--bind", place, place]
    words += ["--bind", home, home, "--chdir", home, *way_out(proxy)]
    words += ["--seccomp", str(filter_file), "--remount-ro", "/", "--"]
    if proxy is not None:
        words += ["/bin/sh", "-c", f'{bridge()} exec "$@"', "sh"]
    return [*words, *line.words]


def _visible(line: ProgramLine) -> Iterator[str]:
    """Yield the paths that a line needs beyond the machine's programs: its files and its package.

    A program in the folder ``bin`` of a package needs the package and the interpreter that a
    virtual environment was made from; one in a folder ``node_modules`` needs this folder with the
    packages that it uses.
    """
    yield from line.read
    named = [word.partition("=")[2] or word for word in line.words if "/" in word]
    found = [shutil.which(word) for word in line.words if "/" not in word][:1]
    for word in (*named, *filter(None, found)):
        path = Path(word)
        if path.is_absolute() and path != Path("/") and os.access(path, os.F_OK):
            for one in dict.fromkeys((path, path.resolve())):
                if not one.is_relative_to("/usr"):
                    yield str(one)
                yield from _package(one)


def _package(program: Path) -> Iterator[str]:
    if _MODULES in program.parts:
        yield str(Path(*program.parts[: program.parts.index(_MODULES) + 1]))
        return
    root = program.parent.parent
    if program.parent.name != "bin" or root.is_relative_to("/usr") or not (root / "lib").is_dir():
        return
    yield str(root)
    environment = root / "pyvenv.cfg"
    base = _BASE.search(environment.read_text()) if environment.exists() else None
    home = "" if base is None else base[1].strip()
    if home and not Path(home).is_relative_to("/usr"):
        yield str(Path(home).resolve().parent)
