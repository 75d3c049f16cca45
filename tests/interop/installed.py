"""The third-party servers, installed in ``build/interop`` at fixed versions."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOME = ROOT / "build" / "interop"
PYTHON = (
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    "mcp-server-fetch==2026.10.24",
)
#: The conformance suite needs Node 22; the package `node` brings it.
NODE = (
    "node@22.23.3",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
)
MODULES = HOME / "node_modules"
NODE_BINARY = MODULES / ".bin" / "node"


def install() -> None:
    """Install what is missing, with pip and npm."""
    if not (HOME / "venv" / "bin" / "mcp-server-fetch").exists():
        HOME.mkdir(parents=True, exist_ok=True)
        _run(sys.executable, "-m", "venv", "venv")
        _run("venv/bin/pip", "install", "--quiet", *PYTHON)
    if not (MODULES / "@modelcontextprotocol" / "conformance").exists():
        _run("npm", "install", "--no-audit", "--no-fund", "--prefix", ".", *NODE)


def python_server(name: str, *arguments: str) -> tuple[str, ...]:
    """The words that start a server of PyPI."""
    return (str(HOME / "venv" / "bin" / name), *arguments)


def node_server(name: str, *arguments: str) -> tuple[str, ...]:
    """The words that start a server of npm."""
    return (str(NODE_BINARY), str(package(name) / "dist" / "index.js"), *arguments)


def package(name: str) -> Path:
    """The folder of a package of npm."""
    return MODULES / "@modelcontextprotocol" / name


def version(specifier: str) -> str:
    """The fixed version of a package."""
    found = next(each for each in (*PYTHON, *NODE) if specifier in each)
    return found.replace("==", "@").rpartition("@")[2]


def _run(*words: str) -> None:
    subprocess.run(words, cwd=HOME, check=True)
