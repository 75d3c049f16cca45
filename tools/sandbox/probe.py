"""The program that checks a sandbox's walls from inside, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.sandbox.program import Ended, Limits, Program


def probe(hidden: Sequence[str] = (), usual: Sequence[str] = ()) -> Program:
    """Return the program.

    Args:
        hidden: Paths of which none may exist in the sandbox.
        usual: Names of variables that are in every program's environment there.
    """
    code = (Path(__file__).parent / "inside" / "probe.py").read_text()
    files = {"hidden": "\n".join(hidden).encode(), "usual": "\n".join(usual).encode()}
    return Program("python", code, files, Limits(seconds=10))


def has_held(ended: Ended) -> bool:
    """Return True if the program found every wall standing."""
    return ended.code == 0 and ended.stdout == "held\n"


def reason(ended: Ended) -> str:
    """Return what the program found otherwise, without a full stop."""
    return (ended.stderr.strip() or ended.ending).splitlines()[-1][:300]
