"""Each environment variable is given values that it cannot have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import pytest

from heartbit_site import environment
from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
Values: TypeAlias = tuple[list[str], list[str]]
FLAG: Values = (["1", "0", "true", "Off"], ["maybe", "2"])
COUNT: Values = (["0", "7"], ["abc", "-1", "1.5", "9" * 5000])
ANY_TEXT: Values = (["x"], [])  # or checked by its reader, which knows more
#: What each variable takes and refuses.
VALUES: dict[str, Values] = {
    "DATABASE_URL": (
        ["postgresql://u:p@h:5432/d?sslmode=require", "postgresql:///d?host=/run"],
        [
            *("h:5432/d", "mysql://u:p@h/d", "postgresql://u:p@h:port/d", "postgresql://u:p@h/"),
            *("postgresql://u:p@h/d?sslmode=require&foo=1", "postgresql://u:p@h/d?keepalives"),
            "postgresql://u:p@h/d?connect_timeout=x",
        ],
    ),
    "DATABASE_DIRECT_URL": (["postgres://h/d"], ["sqlite:///d", "postgresql://[h/d"]),
    "REDIS_URL": (
        [
            *("redis://:p@h:6379/0", "rediss://h", "unix:///run/valkey.sock?db=0"),
            *("redis://h?socket_timeout=5&max_connections=9", "rediss://h/0?ssl_cert_reqs=none"),
        ],
        [
            *(
                "h:6379",
                "redis://:p@h:port/0",
                "redis://:p@h/db",
                "unix://",
                "unix:/s",
                "unix:///s?db=x",
            ),
            *("redis://:p@h/0?socket_timeout=abc", "redis://:p@h/0?foo=1", "unix:///s?db=0&foo=1"),
            *("redis://:p@h/0?ssl_cert_reqs=none", "rediss://:p@h?ssl_cert_reqs=x"),
        ],
    ),
    "HEARTBIT_STATE_DIR": (["state", "/var/lib/heartbit"], [__file__]),
    "HEARTBIT_EMBEDDED_IDLE_SECONDS": (["0", "0.2"], ["abc", "-1", "nan", "inf"]),
    "HEARTBIT_SECRET_KEY": ANY_TEXT,
    "HEARTBIT_ENCRYPTION_KEYS": ([f"{KEY}, {KEY}"], ["short", f"{KEY},x"]),
    "HEARTBIT_ALLOWED_HOSTS": (["*", ".x.example,[::1]"], ["https://x", "x:80", "a b"]),
    "HEARTBIT_HTTPS": FLAG,
    "HEARTBIT_TRUSTED_ORIGINS": (
        ["https://x.example:8443", "https://*.x.example,http://y"],
        ["x.example", "https://", "ftp://x", "https://x/path", "https://x:port"],
    ),
    "HEARTBIT_TRUSTED_PROXIES": (
        ["10.0.0.7, 10.1.0.0/16", "fd00::/8"],
        ["*", "proxy.example", "10.0.0.0/99", "0.0.0.0/0", "::/0"],
    ),
    "HEARTBIT_REQUEST_SECONDS": (["30", "0.5"], ["soon", "0", "-1", "nan", "inf"]),
    "HEARTBIT_PUBLIC_URL": (["https://x.example/a/"], ["x.example", "ftp://x", "http://h:port"]),
    "HEARTBIT_APPROVAL_MAIL": FLAG,
    "HEARTBIT_ALERT_MAIL": (["ops@x.example, ann@y.example"], ["ops", "@x", "Ann <a@x>"]),
    "HEARTBIT_ALERT_WORKSPACE": ANY_TEXT,
    "HEARTBIT_APPROVAL_LINK_HOURS": (["0.5", "72"], ["abc", "0", "nan"]),
    "HEARTBIT_CONFIG": ANY_TEXT,
    "HEARTBIT_PROVIDER": ANY_TEXT,
    "HEARTBIT_MODEL": ANY_TEXT,
    "HEARTBIT_WORKSPACE": ANY_TEXT,
    "HEARTBIT_URL": (["x.example", "http://h:8000"], ["://", "ftp://h", "https://u:p@h"]),
    "HEARTBIT_API_KEY": (["hb_x"], ["två ord", "hb x"]),
    "HEARTBIT_HTTP_ALLOWLIST": (["10.0.0.7:8080, wiki.internal"], ["http://x", "h:99999", "1.2.3"]),
    "HEARTBIT_MCP_COMMANDS": (
        [
            "time = /bin/time --zone 'Europe/Berlin'; files=npx files /srv",
            "a = b;",
            "a = +host=x.org +open b",
        ],
        [
            *("time", "Time = x", "a = 'x", "a = x; a = y", "= x", "a =", "a = +open"),
            *("a = +host=https://x.org b", "a = +read=relative b", "a = +net b"),
        ],
    ),
    "HEARTBIT_SANDBOX": (["off", "bubblewrap", "remote", "docker"], ["on", "podman"]),
    "HEARTBIT_SANDBOX_IMAGE": ANY_TEXT,
    "HEARTBIT_SANDBOX_URL": (["http://10.0.0.7:8300", "https://box.example"], ["10.0.0.7", "x"]),
    "HEARTBIT_SANDBOX_HOSTS": (
        ["pypi.org, Files.pythonhosted.org"],
        ["https://x.org", "x.org:443", "*.x.org", "*", "[::1]"],
    ),
    "HEARTBIT_SANDBOX_KEY": (["0123456789abcdef" * 2], ["short", "a key with spaces in it" * 3]),
    "HEARTBIT_API_RATE_LIMIT": (["0", "0.5"], ["abc", "-1", "nan"]),
    "HEARTBIT_MAX_MESSAGE_HOPS": (["8"], ["abc", "0", "1.5"]),
    "HEARTBIT_MESSAGES_PER_MINUTE": COUNT,
    "HEARTBIT_EXTRA_APPS": (["shop.assistant, crm", "crm.apps.CrmConfig"], ["shop-a", "a b"]),
    "HEARTBIT_LEASE_SECONDS": (["10", "2.5"], ["abc", "0", "nan", "inf"]),
    "HEARTBIT_SWEEP_SECONDS": (["0.05"], ["abc", "0", "-1"]),
    "HEARTBIT_BREAKER_FAILURES": COUNT,
    "HEARTBIT_LOOP_SILENCE_SECONDS": (["0", "6", "0.5"], ["abc", "-1", "3601"]),
    "HEARTBIT_MAX_CRASHES": (["3"], ["abc", "0"]),
    "HEARTBIT_DRAIN_SECONDS": (["0", "25"], ["abc", "-1"]),
    "HEARTBIT_ARCHIVE_DIR": (["/var/archive"], [__file__]),
    "HEARTBIT_DRIVE": (["/var/drive"], [__file__]),
    "HEARTBIT_SANDBOX_PACKAGES": (["/srv/packages"], [__file__]),
    "HEARTBIT_LOCAL_MODEL_THREADS": (["4"], ["abc", "0"]),
    "OTEL_EXPORTER_OTLP_ENDPOINT": (["http://127.0.0.1:4318"], ["collector:4317", "grpc://x"]),
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": (["https://x.example/v1/traces"], ["x", "ftp://x"]),
    "OTEL_EXPORTER_OTLP_PROTOCOL": (["grpc", "http/protobuf"], ["http/json", "udp"]),
    "OTEL_EXPORTER_OTLP_HEADERS": ANY_TEXT,
    "OTEL_SDK_DISABLED": FLAG,
    "HEARTBIT_AGUI_ORIGINS": (["https://app.example, http://127.0.0.1:3000"], ["app", "ftp://x"]),
    "HEARTBIT_MCP_ISSUER": (["https://login.example/realms/x"], ["login.example", "ftp://x"]),
    "HEARTBIT_MCP_PERSON_CLAIM": ANY_TEXT,
    "HEARTBIT_OIDC_ISSUER": (["https://login.example/realms/x"], ["login.example", "ftp://x"]),
    "HEARTBIT_OIDC_CLIENT_ID": ANY_TEXT,
    "HEARTBIT_OIDC_CLIENT_SECRET": ANY_TEXT,
    "HEARTBIT_OIDC_SCOPES": ANY_TEXT,
    "HEARTBIT_OIDC_GROUPS_CLAIM": ANY_TEXT,
    "HEARTBIT_OIDC_ROLES": (
        ['{"ops": {"acme": "admin", "x": "viewer"}}', "{}"],
        ["ops", "[]", '{"ops": "admin"}', '{"ops": {"acme": "owner"}}', '{"ops": {"acme": 1}}'],
    ),
    "HEARTBIT_OIDC_LINK_EMAIL": FLAG,
    "HEARTBIT_OIDC_ONLY": FLAG,
    "HEARTBIT_LOG_FORMAT": (["text", "JSON"], ["xml"]),
    "HEARTBIT_LOG": (["info", "DEBUG"], ["loud"]),
    "HEARTBIT_DEBUG": FLAG,
    "HEARTBIT_MEMORY_PROVIDER": (
        ["memory.providers.protocol.MemoryProvider"],
        ["provider", "no.such.Provider"],
    ),
    "EMAIL_BACKEND": (
        ["django.core.mail.backends.locmem.EmailBackend"],
        ["smtp", "no.such.Backend", "django.core.mail.nothing.Backend"],
    ),
    "EMAIL_HOST": (["smtp.example.org", "[::1]"], ["smtp://h", "h:25", "a b", "*"]),
    "EMAIL_PORT": (["587"], ["abc", "0", "65536"]),
    "EMAIL_HOST_USER": ANY_TEXT,
    "EMAIL_HOST_PASSWORD": ANY_TEXT,
    "EMAIL_USE_TLS": FLAG,
    "EMAIL_USE_SSL": FLAG,
    "DEFAULT_FROM_EMAIL": (["a@b.example", "Ann <a@b.example>"], ["ann", "a@"]),
}
GOOD = [(name, value) for name, (good, _) in VALUES.items() for value in good]
BAD = [(name, value) for name, (_, bad) in VALUES.items() for value in bad]
SECRET = {variable.name for variable in variables.VARIABLES if variable.secret}


def test_every_variable_is_tried() -> None:
    assert {variable.name for variable in variables.VARIABLES} == VALUES.keys()


#: What a sign-in at an issuer needs beside one of its variables.
_CLIENT = {"HEARTBIT_OIDC_ISSUER": "https://x.example", "HEARTBIT_OIDC_CLIENT_ID": "x"}


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_what_a_variable_takes(name: str, value: str) -> None:
    beside = _CLIENT if "_OIDC_" in name else {}
    assert environment.problems({**beside, name: value}) == []


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_that_cannot_be_used_is_one_sentence_with_name_value_and_remedy(
    name: str, value: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        environment.read({name: value})
    sentence = str(caught.value)
    assert re.match(rf"(Key \d of )?{name}\b", sentence)
    assert re.search(r"\b(set|write|name|make|needs|is no|not|put|has no)\b", sentence)
    assert sentence.endswith((".", "openssl rand -base64 32"))
    assert "\n" not in sentence
    assert len(sentence) < 400
    if name in SECRET:
        assert ":p@" not in sentence
        assert "short" not in sentence
    else:
        assert value[:20] in sentence


@pytest.mark.parametrize("name", VALUES)
def test_a_variable_that_is_set_to_nothing_is_unset(name: str) -> None:
    [variable] = [each for each in variables.VARIABLES if each.name == name]
    assert variable.read({name: "  "}) == variable.read({}) == variable.default


def test_several_mistakes_are_counted_and_listed() -> None:
    environ = {"HEARTBIT_LEASE_SECONDS": "abc", "EMAIL_PORT": "x", "HEARTBIT_HTTPS": "perhaps"}
    assert len(variables.problems(environ)) == 3
    with pytest.raises(ConfigurationError, match="`heartbit doctor` lists 2 more"):
        environment.read(environ)
    assert len(variables.problems({"EMAIL_USE_TLS": "1", "EMAIL_USE_SSL": "1"})) == 1


def test_addresses_lose_the_slash_at_their_end_and_get_a_scheme() -> None:
    assert variables.PUBLIC_URL.read({"HEARTBIT_PUBLIC_URL": "https://x.example/"}) == (
        "https://x.example"
    )
    assert variables.URL.read({"HEARTBIT_URL": "x.example"}) == "https://x.example"


def test_a_state_directory_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEARTBIT_STATE_DIR", "state")
    assert environment.read({}).state.path == tmp_path / "state"


def test_given_an_origin_with_a_slash_or_capitals_then_it_is_what_browsers_send() -> None:
    environ = {"HEARTBIT_TRUSTED_ORIGINS": "https://Heartbit.Example/, https://*.example:8443"}
    found = variables.TRUSTED_ORIGINS.read(environ)
    assert found == ("https://heartbit.example", "https://*.example:8443")


@pytest.mark.parametrize(
    ("name", "form"), [("DATABASE_URL", "postgresql://USER@"), ("REDIS_URL", "redis://HOST:6379/0")]
)
def test_given_a_port_that_is_no_number_then_the_form_is_that_of_the_variable(
    name: str, form: str
) -> None:
    scheme = form.partition(":")[0]
    (problem,) = variables.problems({name: f"{scheme}://host:port/0"})
    assert form in problem


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [
        ("DATABASE_URL", "postgresql://u:p@h/d?sslmode=require&foo=hush", "foo"),
        ("DATABASE_DIRECT_URL", "postgresql://u:p@h/d?connect_timeout=hush", "connect_timeout"),
        ("REDIS_URL", "redis://:p@h/0?socket_keepalive=1&socket_timeout=hush", "socket_timeout"),
        ("REDIS_URL", "redis://:p@h/0?foo=hush&max_connections=9", "foo"),
    ],
)
def test_given_an_address_with_a_bad_option_then_the_option_is_named_and_not_its_value(
    name: str, value: str, option: str
) -> None:
    (problem,) = environment.problems({name: value})
    assert f"its option {option!r} " in problem
    assert "hush" not in problem


@pytest.mark.parametrize("name", ["DATABASE_URL", "DATABASE_DIRECT_URL"])
@pytest.mark.parametrize("password", ["hush%zz", "hush hush", "hush%"])
def test_given_a_password_that_is_not_encoded_then_the_sentence_says_how_and_not_what(
    name: str, password: str
) -> None:
    (problem,) = environment.problems({name: f"postgresql://u:{password}@h/d"})
    assert "percent-encoded" in problem
    assert "hush" not in problem


def test_a_secret_may_be_in_a_file_that_a_variable_names(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("postgresql://u:p@db/heartbit\n")
    given = {"DATABASE_URL_FILE": str(file)}
    assert variables.DATABASE_URL.read(given) == "postgresql://u:p@db/heartbit"
    assert variables.problems(given) == []
    assert variables.unknown({"HEARTBIT_SECRET_KEY_FILE": "/x"}) == []
    assert variables.unknown({"HEARTBIT_LOG_FILE": "/x"}) == ["HEARTBIT_LOG_FILE"]
    assert variables.LOG.read({"HEARTBIT_LOG_FILE": str(file)}) == ""


def test_a_file_that_cannot_be_read_or_is_one_too_many_is_said_without_the_secret(
    tmp_path: Path,
) -> None:
    missing = tmp_path / "missing"
    assert variables.problems({"HEARTBIT_SECRET_KEY_FILE": str(missing)}) == [
        f"HEARTBIT_SECRET_KEY_FILE is '{missing}': that file cannot be read (No such file or "
        "directory)."
    ]
    assert variables.problems({"REDIS_URL": "redis://a", "REDIS_URL_FILE": str(missing)}) == [
        "REDIS_URL and REDIS_URL_FILE are both set: unset one of them."
    ]
