"""A project with its own users, routes, sockets and Celery app, and Heartbit beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.sync.client import connect

from tests.examples.folders import EXAMPLES
from tests.examples.separate import Separate, separate
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = EXAMPLES / "existing_project"


#: The tables are made from nothing, because those that are kept are of other people's class.
pytestmark = pytest.mark.timeout(900)
BAKERY = {"PYTHONPATH": str(FOLDER), "DJANGO_SETTINGS_MODULE": "bakery.settings"}


@pytest.fixture(scope="module")
def bakery(django_db_setup: None, wire_server: object) -> Iterator[Separate]:
    """The bakery, with all its processes."""
    with separate(BAKERY, is_migrated=False) as installation:
        installation.up()
        installation.start("celery", "-A", "bakery", "worker", "-P", "solo", "-Q", "bakery")
        yield installation


@pytest.mark.usefixtures("django_db_setup", "wire_server")
def test_a_database_of_other_people_is_refused_with_a_sentence() -> None:
    with separate(BAKERY) as installation:
        said = installation.heartbit("users", "list", is_refused=True)
    assert "start with the AUTH_USER_MODEL and the INSTALLED_APPS that it has" in said
    assert "Traceback" not in said


def test_the_bakery_s_page_worker_and_trigger_work_together(bakery: Separate) -> None:
    answer = httpx.get(f"{bakery.url}/orders/rye/")
    assert answer.text == "rye: ordered"
    runs = "SELECT agent, started_by, status FROM agents_run WHERE task LIKE '%Announce the rye.%'"
    announced = [("writer", "trigger announce", "succeeded")]
    wait_until(lambda: bakery.rows(runs) == announced, seconds=60, what="the run of a baked order")
    assert bakery.rows("SELECT bread, status FROM bakery_order") == [("rye", "baked")]


def test_the_bakery_s_sockets_and_heartbit_s_are_served(bakery: Separate) -> None:
    address = bakery.url.replace("http", "ws", 1)
    with connect(f"{address}/oven/") as oven:
        oven.send("Rye")
        assert oven.recv(timeout=20) == "Rye in the oven"
    key = bakery.heartbit("keys", "create", "test", "--scope", "agents:read").split()[-1]
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}) as program:
        found = program.get(f"{bakery.url}/api/v1/agents").json()
    assert "writer" in str(found)


def test_people_are_the_bakery_s(bakery: Separate) -> None:
    bakery.heartbit("users", "create", "ann", "--generate", "--role", "operator")
    bakery.heartbit("usage")
    people = "SELECT username, phone FROM bakery_user ORDER BY username"
    assert bakery.rows(people) == [("admin", ""), ("ann", "")]
    decides = """
        SELECT heartbit_may_decide(u.id, 'web', m.workspace_id, ARRAY['operator']),
               heartbit_is_asked('{"group": "bakers", "escalated_to": "no"}', u.id)
        FROM bakery_user u JOIN base_membership m ON m.user_id = u.id
    """
    assert bakery.rows(decides) == [(True, False)]
    joined = """
        WITH made AS (INSERT INTO auth_group (name) VALUES ('bakers') RETURNING id)
        INSERT INTO bakery_user_groups (user_id, group_id)
        SELECT u.id, made.id FROM bakery_user u, made WHERE u.username = 'ann' RETURNING group_id
    """
    assert len(bakery.rows(joined)) == 1
    assert bakery.rows(decides) == [(True, True)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("from django.conf.global_settings import *", "which are not Heartbit's settings"),
        (
            "from bakery.settings import *\nAUTH_USER_MODEL = 'bakery.Order'",
            "make the class a subclass of django.contrib.auth.models.AbstractUser",
        ),
    ],
)
def test_a_project_that_does_not_fit_is_told_so(bakery: Separate, changed: str, said: str) -> None:
    folder = bakery.state.path.parent / "other"
    folder.mkdir(exist_ok=True)
    (folder / "other_settings.py").write_text(changed)
    before = dict(bakery.environment)
    bakery.environment["DJANGO_SETTINGS_MODULE"] = "other_settings"
    bakery.environment["PYTHONPATH"] += f":{folder}"
    try:
        assert said in bakery.heartbit("users", "list", is_refused=True)
    finally:
        bakery.environment = before
