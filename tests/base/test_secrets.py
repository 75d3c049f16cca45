"""Secrets at rest: readable in their own row only, under any key of the ring, and never shown."""

from __future__ import annotations

import base64
import os
import stat
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from heartbit_site.base import secrets
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.keyring import parse_keys
from heartbit_site.base.secrets import SecretError, SecretLocation, decrypt, encrypt
from heartbit_site.embedded.state import StateDirectory
from heartbit_site.keys import encryption_keys

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

CANARY = "sk-canary-0123456789abcdef"
PLACE = SecretLocation("base_provideraccount", "secret", 1, 7)


def new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


@pytest.fixture
def keys(settings: Settings) -> list[str]:
    """The installation's keys, newest first; a test may change the list."""
    ring = [new_key()]
    settings.HEARTBIT_ENCRYPTION_KEYS = lambda: tuple(ring)
    return ring


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_was_encrypted_is_decrypted(text: str) -> None:
    assert decrypt(encrypt(text, PLACE), PLACE) == text


def test_a_stored_secret_names_its_version_and_key_and_shows_nothing(keys: list[str]) -> None:
    stored = encrypt(CANARY, PLACE)
    (key,) = parse_keys(keys)
    assert stored.startswith(f"v1:{key.id}:")
    assert CANARY not in stored
    assert CANARY.encode() not in base64.b64decode(stored.rpartition(":")[2])


def test_the_same_secret_is_never_stored_twice_alike(keys: list[str]) -> None:
    assert len({encrypt(CANARY, PLACE) for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "other",
    [
        SecretLocation("tools_mcpserver", "secret", 1, 7),
        SecretLocation("base_provideraccount", "other", 1, 7),
        SecretLocation("base_provideraccount", "secret", 2, 7),
        SecretLocation("base_provideraccount", "secret", 1, 8),
        SecretLocation("base_provideraccount", "secret", 17, 7),
    ],
    ids=["table", "column", "tenant", "row", "digits"],
)
def test_a_ciphertext_copied_elsewhere_cannot_be_read(
    keys: list[str], other: SecretLocation
) -> None:
    stored = encrypt(CANARY, PLACE)
    with pytest.raises(SecretError, match="belongs to another row"):
        decrypt(stored, other)


def test_a_changed_ciphertext_cannot_be_read(keys: list[str]) -> None:
    head, _, body = encrypt(CANARY, PLACE).rpartition(":")
    raw = bytearray(base64.b64decode(body))
    for position in (0, 12, len(raw) - 1):  # nonce, text, tag
        changed = raw.copy()
        changed[position] ^= 1
        with pytest.raises(SecretError, match="enter it again"):
            decrypt(f"{head}:{base64.b64encode(changed).decode()}", PLACE)


@pytest.mark.parametrize(
    "stored", [CANARY, "v1:", "v1:abc:", "v1:abc:AAAA", "v2:abc:AAAA", "v1:a:%"]
)
def test_what_is_no_stored_secret_is_said_without_showing_it(keys: list[str], stored: str) -> None:
    with pytest.raises(SecretError, match="an unknown format") as caught:
        decrypt(stored, PLACE)
    assert CANARY not in str(caught.value)


def test_after_a_rotation_old_secrets_are_read_and_new_ones_use_the_new_key(
    keys: list[str],
) -> None:
    old = encrypt(CANARY, PLACE)
    keys.insert(0, new_key())
    new = encrypt(CANARY, PLACE)
    assert old.split(":")[1] != new.split(":")[1]
    assert decrypt(old, PLACE) == decrypt(new, PLACE) == CANARY


def test_without_its_key_a_secret_says_which_key_is_missing(keys: list[str]) -> None:
    stored = encrypt(CANARY, PLACE)
    (old,) = parse_keys(keys)
    keys[:] = [new_key()]
    with pytest.raises(SecretError, match=f"key {old.id}, which is missing here") as caught:
        decrypt(stored, PLACE)
    assert "HEARTBIT_ENCRYPTION_KEYS" in str(caught.value)
    assert "base_provideraccount.secret of row 7" in str(caught.value)


def test_a_row_without_an_id_can_keep_no_secret(db: None) -> None:
    from heartbit_site.base.models import ProviderAccount  # noqa: PLC0415  beside its one use

    with pytest.raises(ValueError, match="needs its id"):
        secrets.seal(ProviderAccount(workspace_id=1), "secret", CANARY)


def test_both_alphabets_of_base64_name_the_same_key_once() -> None:
    raw = b"\xfb\xff" * 16
    standard, urlsafe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()
    assert standard != urlsafe
    (key,) = parse_keys([standard, urlsafe, urlsafe.rstrip("=")])
    assert key.raw == raw
    assert standard not in repr(key)
    assert repr(raw) not in repr(key)


@pytest.mark.parametrize("text", ["secret", "", "AAAA", "not base64!", "A" * 38])
def test_a_key_that_is_none_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Key 2 of HEARTBIT_ENCRYPTION_KEYS") as caught:
        parse_keys([new_key(), text])
    assert not text or text not in str(caught.value)


def test_the_environments_keys_win_and_are_checked_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = new_key(), new_key()
    monkeypatch.setenv("HEARTBIT_ENCRYPTION_KEYS", f"{one}, {two}")
    assert encryption_keys(StateDirectory(tmp_path))() == (one, two)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("HEARTBIT_ENCRYPTION_KEYS", "wrong")
    with pytest.raises(ConfigurationError, match="Key 1 of HEARTBIT_ENCRYPTION_KEYS"):
        encryption_keys(StateDirectory(tmp_path))


def test_a_key_is_made_once_in_the_state_directory_when_it_is_first_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARTBIT_ENCRYPTION_KEYS", raising=False)
    state = StateDirectory(tmp_path / "s")
    read = encryption_keys(state)
    assert not state.path.exists()
    (made,) = read()
    path = state.path / "encryption_keys"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert encryption_keys(state)() == (made,)
    newer = new_key()
    path.write_text(f"{newer}\n{made}\n")
    assert read() == (newer, made)
    assert [key.id for key in parse_keys(read())] == [parse_keys([k])[0].id for k in (newer, made)]


def test_the_settings_offer_keys_that_can_be_used() -> None:
    assert parse_keys(settings.HEARTBIT_ENCRYPTION_KEYS())
