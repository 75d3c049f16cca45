"""JSON protocol of runners: programs and results (docs/howto/code.md, "On another machine").

Files travel as a tar archive in base64, and both sides parse it as untrusted.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import fields
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.sandbox import folder
from tools.sandbox.program import MEGABYTE, Ended, Ending, Language, Limits, Program, SandboxError

#: Path of a runner that programs are posted to.
PROGRAMS: Final = "/v1/programs"
#: Maximum limits that a program may request.
MOST: Final = Limits(
    seconds=120,
    memory_bytes=2048 * MEGABYTE,
    processes=256,
    disk_bytes=256 * MEGABYTE,
    output_bytes=4 * MEGABYTE,
    file_bytes=64 * MEGABYTE,
    files=5_000,
)
#: Maximum bytes of one request or response.
MAX_BYTES: Final = 128 * MEGABYTE
MAX_SENTENCE: Final = 300
_SENTENCES: Final = 20
#: Maximum values of a response, beyond those a program printed: a parser creates an object for
#: each.
_VALUES: Final = 1_000
_ESCAPED: Final = 6  # bytes of a character in JSON
MOST_HOSTS: Final = 50
Host = Annotated[str, Field(min_length=1, max_length=253)]

M = TypeVar("M", bound="_Message")


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Asked(_Message):
    language: Language
    code: str
    folder: str = ""
    limits: Limits = Limits()
    hosts: tuple[Host, ...] = Field((), max_length=MOST_HOSTS)


class _Answered(_Message):
    code: int | None
    ending: Ending
    stdout: str
    stderr: str
    folder: str
    refused: list[str]
    is_complete: bool = True


def answer_bytes(limits: Limits) -> int:
    """Return the maximum size in bytes of the response to a program with these limits."""
    files = folder.archive_bytes(limits.files, limits.file_bytes) * 4 // 3
    return min(MAX_BYTES, files + 2 * _ESCAPED * limits.output_bytes + MEGABYTE)


def write_program(program: Program) -> bytes:
    """Return a program as a request's body."""
    return (
        _Asked(
            language=program.language,
            code=program.code,
            folder=_encoded(folder.pack(program.files)),
            limits=program.limits,
            hosts=program.hosts,
        )
        # An older runner does not know the field, so it is left out when empty.
        .model_dump_json(exclude=None if program.hosts else {"hosts"})
        .encode()
    )


def read_program(body: bytes) -> Program:
    """Return the program of a request's body.

    Raises:
        ValueError: The body is not a program, or requests more than ``MOST``.
    """
    asked = _read(_Asked, body)
    for one in fields(Limits):
        most, wanted = getattr(MOST, one.name), getattr(asked.limits, one.name)
        if not 0 < wanted <= most:
            raise ValueError(f"limits.{one.name} is {wanted}; use more than 0, at most {most}.")
    given = folder.unpack(_decoded(asked.folder), MOST)
    if given.refused:
        raise ValueError(f"folder: {given.refused[0]}")
    return Program(asked.language, asked.code, given.files, asked.limits, asked.hosts)


def write_end(ended: Ended) -> bytes:
    """Return a program's result as a response body."""
    return (
        _Answered(
            code=ended.code,
            ending=ended.ending,
            stdout=ended.stdout,
            stderr=ended.stderr,
            folder=_encoded(folder.pack(ended.files)),
            refused=list(ended.refused),
            is_complete=ended.is_complete,
        )
        # An older worker does not know the field, so it is left out when not needed.
        .model_dump_json(exclude={"is_complete"} if ended.is_complete else None)
        .encode()
    )


def read_end(body: bytes, limits: Limits, *, sandbox: str, seconds: float) -> Ended:
    """Return the result in a response body, cut to the program's limits.

    Raises:
        SandboxError: The body is not a result.
    """
    try:
        if body.count(b",") > 2 * limits.output_bytes + _VALUES:
            raise ValueError("it has too many values.")
        answered = _read(_Answered, body)
        left = folder.unpack(_decoded(answered.folder), limits)
    except ValueError as error:
        raise SandboxError(f"The sandbox's runner returned an invalid response: {error}") from None
    return Ended(
        code=answered.code,
        ending=answered.ending,
        stdout=answered.stdout[: limits.output_bytes],
        stderr=answered.stderr[: limits.output_bytes],
        files=left.files,
        refused=(*(one[:MAX_SENTENCE] for one in answered.refused[:_SENTENCES]), *left.refused),
        sandbox=sandbox,
        seconds=seconds,
        is_complete=answered.is_complete and left.is_complete,
    )


def _read(kind: type[M], body: bytes) -> M:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise ValueError(f"{place}: {first['msg']}.") from None


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("folder: it is not base64.") from None
