"""The programs of others, installed in ``build/interop`` at fixed versions."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOME = ROOT / "build" / "interop"
PYTHON = (
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
    "a2aops==1.1.0",
    "a2a-lint==0.1.1",
    "ag-ui-validate==0.4.0",
)
#: Some need Node 22; the package `node` brings it. The released conformance suite knows nothing of
#: the protocol of 2026-07-28, so its next version is there too.
NODE = (
    "node@22.23.3",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
    "conformance-next@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/ext-tasks@0.2.2",
    "@modelcontextprotocol/client@2.3.1",
    "@ag-ui/client@1.0.0",
    "openai@7.59.0",
)
MODULES = HOME / "node_modules"
NODE_BINARY = MODULES / ".bin" / "node"
_LIST = HOME / "installed.json"


def install() -> None:
    """Install everything with pip and npm, unless this list is installed already."""
    wanted = json.dumps([PYTHON, NODE])
    if _LIST.exists() and _LIST.read_text() == wanted:
        return
    HOME.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", "venv")
    _run("venv/bin/pip", "install", "--quiet", *PYTHON)
    _run("npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *NODE)
    _LIST.write_text(wanted)


def python_program(name: str, *arguments: str) -> tuple[str, ...]:
    """The words that start a program of PyPI."""
    return (str(HOME / "venv" / "bin" / name), *arguments)


def node_program(package: str, *arguments: str) -> tuple[str, ...]:
    """The words that start the program of a package of npm."""
    folder = MODULES / package
    found = json.loads((folder / "package.json").read_text())["bin"]
    script = found if isinstance(found, str) else next(iter(found.values()))
    return (str(NODE_BINARY), str(folder / script), *arguments)


def node_server(name: str, *arguments: str) -> tuple[str, ...]:
    """The words that start a server of MCP's own packages of npm."""
    return (str(NODE_BINARY), str(package(name) / "dist" / "index.js"), *arguments)


def package(name: str) -> Path:
    """The folder of one of MCP's own packages of npm."""
    return MODULES / "@modelcontextprotocol" / name


def version(specifier: str) -> str:
    """The fixed version of a package."""
    found = next(each for each in (*PYTHON, *NODE) if specifier in each)
    return found.replace("==", "@").rpartition("@")[2]


def version_found(package: str) -> str:
    """The version of a package that is really installed: ``npm:NAME``, or ``pypi:NAME``.

    One of PyPI is in the environment of its own programs, or else in Heartbit's.
    """
    registry, _, name = package.partition(":")
    if registry == "npm":
        return str(json.loads((MODULES / name / "package.json").read_text())["version"])
    for folder in (HOME / "venv" / "lib").glob("python*/site-packages"):
        if name in {found.partition("==")[0] for found in PYTHON}:
            [found] = metadata.distributions(name=name, path=[str(folder)])
            return found.version
    return metadata.version(name)


def _run(*words: str) -> None:
    subprocess.run(words, cwd=HOME, check=True)
