"""Where the state directory is, and which addresses follow from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbit_site.embedded.errors import EmbeddedError
from heartbit_site.embedded.state import StateDirectory


def test_the_environment_names_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBIT_STATE_DIR", "/srv/heartbit")
    assert StateDirectory().path == Path("/srv/heartbit")


def test_root_defaults_to_var_lib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARTBIT_STATE_DIR", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert StateDirectory().path == Path("/var/lib/heartbit")


@pytest.mark.parametrize(
    ("xdg", "expected"),
    [("/x/state", "/x/state/heartbit"), ("relative", "/home/u/.local/state/heartbit")],
)
def test_a_user_defaults_to_the_xdg_state_directory(
    monkeypatch: pytest.MonkeyPatch, xdg: str, expected: str
) -> None:
    monkeypatch.delenv("HEARTBIT_STATE_DIR", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("XDG_STATE_HOME", xdg)
    assert StateDirectory().path == Path(expected)


def test_addresses_are_known_before_anything_runs() -> None:
    state = StateDirectory(Path("/srv/my state"))
    assert (
        state.database_url
        == "postgresql:///heartbit?host=%2Fsrv%2Fmy%20state%2Frun&port=5432&user=heartbit"
    )
    assert state.redis_url == "unix:///srv/my%20state/run/valkey.sock?db=0"
    assert state.model_url() is None


def test_a_relative_path_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert StateDirectory(Path("s")).path == tmp_path / "s"


def test_the_longest_usable_path_is_accepted_and_one_byte_more_refused() -> None:
    longest = "/" + "x" * 86
    StateDirectory(Path(longest)).check()
    with pytest.raises(
        EmbeddedError, match=r"is 1 bytes too long .* set HEARTBIT_STATE_DIR to a sh"
    ):
        StateDirectory(Path(longest + "x")).check()


def test_a_path_that_no_configuration_can_carry_is_refused() -> None:
    with pytest.raises(EmbeddedError, match="plainer path"):
        StateDirectory(Path("/srv/a,b")).check()
