"""The name of whoever runs a command is the operating system's word."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING

from heartbit_site.base.os_user import os_username, terminal_user

if TYPE_CHECKING:
    import pytest


def test_given_other_names_in_the_environment_then_the_account_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "another-approver")
    assert os_username() == pwd.getpwuid(os.getuid()).pw_name
    assert "another-approver" not in terminal_user().name


def test_given_accounts_without_a_name_then_each_has_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = set()
    for number in (3_000_001, 3_000_002):
        monkeypatch.setattr(os, "getuid", lambda number=number: number)
        names.add(os_username())
    assert len(names) == 2
