"""Commands called in this process, which saves starting one for each."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from heartbit_site.cli.terminal.output import INVOCATION

if TYPE_CHECKING:
    from collections.abc import Callable

Group = TypeVar("Group")


def options_of(group: type[Group], **given: Any) -> Group:
    """The options of a command as a command line gives them that names these alone."""
    declared: Any = group
    fields: Any = dataclasses.fields(declared)
    defaults = {one.name: one.default.default for one in fields}
    return group(**{**defaults, **given})


def printed_json(command: Callable[[], int], capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command prints with --json; it succeeds."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(INVOCATION, "as_json", True)
        assert command() == 0
    return json.loads(capsys.readouterr().out)
