"""Text for terminals and pipes. What a model or a tool wrote is made harmless first. Pure."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.terminal_text import clean
from heartbit_site.base.visible_text import visible

if TYPE_CHECKING:
    from pydantic import BaseModel

NAME_WIDTH: Final = 40  # characters of a name in a column or a sentence
TEXT_WIDTH: Final = 300


def one_line(text: str, limit: int = 0) -> str:
    """Return clean text on one line, white space collapsed, cut to `limit` characters if given."""
    line = " ".join(clean(text.replace("\r", "\n")).split())
    if limit and len(line) > limit:
        return line[: max(0, limit - 1)].rstrip() + "…"
    return line


def listed(names: Sequence[str]) -> str:
    """Return names as a phrase: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def write(text: str) -> None:
    """Write a result to stdout."""
    sys.stdout.write(clean(text).rstrip("\n") + "\n")
    sys.stdout.flush()


def write_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout, on one line; its strings need no cleaning (JSON escapes)."""
    # DEL is the one control character that JSON leaves as it is.
    line = json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def write_view(view: BaseModel, **more: Any) -> None:
    """Write a view as the REST API does, but for the cursor of a list.

    Args:
        view: What an operation answered.
        more: Further values of the object.
    """
    write_json({**view.model_dump(mode="json", exclude={"next_cursor"}), **more})


def write_exactly(text: str) -> None:
    """Write text as it is, in UTF-8; on a terminal what could steer it is shown as an escape."""
    if sys.stdout.isatty():
        sys.stdout.write(visible(text))
        sys.stdout.flush()
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def write_bytes(data: bytes) -> None:
    """Write a file's content to stdout as it is; on a terminal escapes are shown, not obeyed."""
    if sys.stdout.isatty():
        write_exactly(data.decode("utf-8", "replace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Tell the person something beside the result: a line on stderr."""
    sys.stderr.write(clean(text).replace("\n", " ") + "\n")
    sys.stderr.flush()


def survive_hangup() -> None:
    """Send what would go to a terminal that is gone to nowhere: each write there is an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            os.write(stream.fileno(), b"")
        except OSError as error:
            if error.errno != errno.EIO:
                continue
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def is_terminal() -> bool:
    """Return True if stderr, where progress goes, is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@dataclass
class Invocation:
    """Shared options of the one command that this process runs.

    Attributes:
        url: The server that ``--url`` names; empty: this installation; None: it was not given.
        as_json: ``--json`` was given.
        workspace: The one that ``--workspace`` names; empty: it was not given.
        command: The command, such as `heartbit channels change`.
        options: The command's options and arguments, as a person types them, by parameter.
    """

    url: str | None = None
    as_json: bool = False
    workspace: str = ""
    command: str = ""
    options: dict[str, str] = field(default_factory=dict)


INVOCATION: Final = Invocation()


def as_json() -> bool:
    """Return True if the result is to be printed as JSON."""
    return INVOCATION.as_json
