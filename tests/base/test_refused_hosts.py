"""A request for a host that is not allowed is 400 without details, and one line of the log."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
from django.test import RequestFactory

from heartbit_site.base.refused_hosts import MOST_HOSTS, RefusedHosts
from tests.clients import Client

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings


@pytest.mark.django_db
def test_the_log_names_host_and_setting_once_and_the_answer_neither(
    settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALLOWED_HOSTS = ["heartbit.example"]
    settings.DEBUG = False
    logger = logging.getLogger("django.security.DisallowedHost")
    monkeypatch.setattr(logger, "filters", [RefusedHosts()])
    for host in ("agents.example", "agents.example", "other.example"):
        answer = Client(headers={"host": host}).get("/login/")
        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert b"example" not in answer.content
        assert b"ALLOWED_HOSTS" not in answer.content
    lines = caplog.messages
    assert len(lines) == 2
    assert caplog.records[0].exc_info is None, "and no traceback"
    assert "'agents.example' with 400: add it to HEARTBIT_ALLOWED_HOSTS" in lines[0]
    assert "'other.example'" in lines[1]


def test_the_log_does_not_grow_with_the_hosts_that_a_client_invents() -> None:
    hosts = RefusedHosts()
    requests = (
        RequestFactory().get("/", headers={"host": f"{number}.example"})
        for number in range(MOST_HOSTS + 50)
    )
    logged = [hosts.filter(logging.makeLogRecord({"request": one})) for one in requests]
    assert logged.count(True) == MOST_HOSTS
