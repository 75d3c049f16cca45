"""The API does what its description says: requests made from it, right and wrong ones."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from heartbit_site.api.mount import api
from heartbit_site.base.models import Workspace
from tests.api.server import key_for
from tests.sizes import chosen, sized
from tests.web.matrix_world import MAKERS, agent_of

if TYPE_CHECKING:
    from tests.api.server import WebServer

#: Streams that do not end, and what would stop the runs of other tests.
ELSEWHERE = r"/events$|/halt$|/resume$|/disable$|/enable$|/fleet/queues/"
CONFORMANCE: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: Headers that routes know; what a server makes of others is not theirs.
HEADERS = {"idempotency-key", "last-event-id"}
described = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/api/v1/")))


def is_asked(context: Any) -> bool:
    """Return True for the operations of this size: `make security` asks all, with 20 examples."""
    return chosen(context.operation.label, one_of=12)


def names_something(context: Any) -> bool:
    """Return True for those of them whose address names something."""
    return is_asked(context) and "{" in context.operation.path


schema = schemathesis.openapi.from_dict(described).exclude(path_regex=ELSEWHERE)
# Those cases are made while tests are collected, by each process of pytest-xdist.
schema.config.phases.coverage.enabled = bool(sized(0, full=1))


@pytest.fixture(scope="module")
def known(database: None) -> dict[str, str]:
    """A key of all scopes, and something at every address of its workspace."""
    workspace = Workspace.objects.create(slug=f"s-{secrets.token_hex(4)}", name="s")
    agent_of(workspace, "parked")
    made = {name: make(workspace) for name, make in MAKERS.items()}
    return {**made, "key": key_for(workspace)}


def asked(case: schemathesis.Case[Any], site: WebServer, key: str, checks: list[Any]) -> None:
    """Ask, and check the answer."""
    for name in [name for name in case.headers or {} if name.lower() not in HEADERS]:
        del case.headers[name]
    case.query = {name: value for name, value in (case.query or {}).items() if name != "wait"}
    headers = {"Authorization": f"Bearer {key}"}
    response = case.call(base_url=site.url, headers=headers, timeout=60)
    if response.status_code == 413 and negative_data_rejection in checks:
        checks = CONFORMANCE  # refused, but schemathesis does not count this status as that
    case.validate_response(response, checks=checks)


EXAMPLES = settings(
    max_examples=sized(1, full=20),
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@schema.include(func=is_asked).parametrize()
@EXAMPLES
def test_given_any_request_then_the_answer_is_a_described_one(
    site: WebServer, known: dict[str, str], case: schemathesis.Case[Any]
) -> None:
    asked(case, site, known["key"], [*CONFORMANCE, negative_data_rejection])


@schema.include(func=names_something).parametrize()
@EXAMPLES
def test_given_something_at_the_address_then_the_answer_is_a_described_one(
    site: WebServer, known: dict[str, str], case: schemathesis.Case[Any]
) -> None:
    case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
    asked(case, site, known["key"], CONFORMANCE)
