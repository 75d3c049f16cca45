"""`--payload FILE|JSON`: a task in its long form."""

from __future__ import annotations

from pathlib import Path

from agents.output import payload
from agents.output.payload import PayloadError, TaskPayload
from heartbit_site.base.untrusted import MAX_JSON_BYTES, UntrustedJSONError, parse_untrusted_json


def payload_of(text: str) -> TaskPayload | None:
    """Return the payload; None for no text.

    Args:
        text: A JSON object, or the name of a file that holds one.

    Raises:
        PayloadError: It is neither, or the object is no task.
    """
    if not text.strip():
        return None
    source = text if text.lstrip().startswith("{") else _content(text)
    try:
        return payload.parse(parse_untrusted_json(source))
    except UntrustedJSONError as error:
        raise PayloadError(f"The task payload cannot be read: {error}") from error


def _content(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_JSON_BYTES + 1)
    except OSError as error:
        raise PayloadError(
            f"The task payload {name!r} is no JSON object, and no file that can be read "
            f"({error.strerror})."
        ) from error
