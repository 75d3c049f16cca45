"""The command line: every command with its options."""

from __future__ import annotations

import re
from typing import Any, Final

from heartbit_site.cli.main import COMMANDS, load
from heartbit_site.cli.terminal import errors
from tests.reference.markdown import table

_HEAD: Final = """# Command line

Every command, its arguments and options; `heartbit COMMAND --help` prints the same. Options of all commands:
`--workspace` chooses the workspace, `--json` prints JSON where a command has it, `--debug` shows logs and
tracebacks.
"""
_CODES: Final = re.compile(r"^(\d+) +(.+(?:\n {6}.+)*)", re.MULTILINE)
_MARKUP: Final = re.compile(r"\[/?(?:bold|dim|red|green|yellow|cyan)\]")


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for name, summary in COMMANDS.items():
        parts.append(f"\n## heartbit {name}\n\n{summary}\n")
        parts.append(_described(load(name), name, summary))
    rows = ([code, text] for code, text in _CODES.findall(errors.__doc__ or ""))
    parts.append("\n## Exit codes\n\n" + table("code, meaning", rows))
    return "".join(parts)


def _described(command: Any, name: str, summary: str) -> str:
    found = []
    text = _MARKUP.sub("", (command.help or "").strip()).removeprefix(summary).strip()
    if text:
        found.append(f"\n{text}\n")
    if rows := [row for one in command.params if (row := _row(one))]:
        found.append("\n" + table("argument, meaning", rows))
    for below, each in sorted(getattr(command, "commands", {}).items()):
        if not each.hidden:
            found.append(
                f"\n### heartbit {name} {below}\n{_described(each, f'{name} {below}', '')}"
            )
    return "".join(found)


def _row(parameter: Any) -> list[str] | None:
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return None
    if parameter.param_type_name == "argument":
        named = parameter.metavar or parameter.name.upper()
    else:
        named = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return [f"`{named}`", _MARKUP.sub("", getattr(parameter, "help", "") or "")]
