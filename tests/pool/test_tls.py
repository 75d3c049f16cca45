"""``rediss://``: broker, results and pages check the server's certificate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from heartbit_site.environment import celery_broker, celery_tls
from tests.command import HEARTBIT, ROOT
from tests.tls import tls_proxy, write_certificates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Tries each way to Valkey, and says of each whether it worked.
TRY_ALL = """
import asyncio, json
from channels.layers import get_channel_layer
from celery import chord
from heartbit_site.celery import app

@app.task(queue="tests.tls")
def nothing(*_): pass

async def pages():
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.send(channel, {"type": "hint"})
    await layer.receive(channel)

def broker():
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=5)

def published():
    chord([nothing.s(), nothing.s()])(nothing.s())

said = {}
for name, work in {
    "broker": broker,
    "results": lambda: app.backend.client.ping(),
    "chord": published,
    "pages": lambda: asyncio.run(pages()),
}.items():
    try:
        work()
        said[name] = "ok"
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory, database: None) -> Iterator[tuple[int, Path]]:
    """The port of Valkey over TLS, and the file of its authority."""
    authority, server = write_certificates(tmp_path_factory.mktemp("tls"))
    with tls_proxy(urlsplit(settings.REDIS_URL).path, server) as port:
        yield port, authority


def run(url: str, *command: str) -> str:
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "REDIS_URL": url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.stdout, ended.stderr
    return ended.stdout


def tried(url: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(run(url, sys.executable, "-c", TRY_ALL))
    return found


def checked(url: str) -> dict[str, dict[str, str]]:
    checks = json.loads(run(url, HEARTBIT, "doctor", "--json"))["checks"]
    return {check["name"]: check for check in checks}


def test_every_connection_is_made_with_a_certificate_that_is_trusted(tls: tuple[int, Path]) -> None:
    port, authority = tls
    url = f"rediss://localhost:{port}/5?ssl_ca_certs={authority}"
    assert tried(url) == dict.fromkeys(("broker", "results", "chord", "pages"), "ok")
    assert checked(url)["broker"]["status"] == "ok"


def test_no_connection_is_made_with_a_certificate_that_is_not(tls: tuple[int, Path]) -> None:
    port, authority = tls
    # Unknown, and of another host.
    for url in (
        f"rediss://localhost:{port}/5",
        f"rediss://127.0.0.1:{port}/5?ssl_ca_certs={authority}",
    ):
        said = tried(url)
        assert not [name for name, how in said.items() if how == "ok"], said
        assert "certificate" in said["broker"].lower()


def test_doctor_says_that_a_certificate_is_refused_or_not_checked(tls: tuple[int, Path]) -> None:
    port, authority = tls
    refused = checked(f"rediss://localhost:{port}/5")["valkey"]
    assert (refused["status"], "certificate" in refused["detail"].lower()) == ("fail", True)
    unchecked = checked(f"rediss://localhost:{port}/5?ssl_cert_reqs=none")["broker"]
    assert unchecked["status"] == "warn"
    assert "not checked" in unchecked["detail"]
    query = f"ssl_ca_certs={authority}&ssl_check_hostname=false"
    other = checked(f"rediss://127.0.0.1:{port}/5?{query}")["broker"]
    assert (other["status"], "the host of" in other["detail"]) == ("warn", True)


@pytest.mark.parametrize(
    ("url", "broker", "options"),
    [
        ("redis://:p@h/1?socket_timeout=5", "redis://:p@h/1?socket_timeout=5", None),
        ("rediss://:p@h/1", "redis://:p@h/1", {"ssl_cert_reqs": "required"}),
        (
            "rediss://h/0?ssl_check_hostname=false&socket_timeout=5&ssl_cert_reqs=none",
            "redis://h/0?socket_timeout=5",
            {"ssl_cert_reqs": "none", "ssl_check_hostname": False},
        ),
    ],
)
def test_options_of_tls_are_settings_of_celery(
    url: str, broker: str, options: dict[str, object] | None
) -> None:
    assert (celery_broker(url), celery_tls(url)) == (broker, options)
