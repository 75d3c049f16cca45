"""S30: what others write costs linear time, and whoever asks beside it waits less than a second.

The longest wait of each case is in its row of ``build/security.json``.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from agents.skills import front_matter
from agents.skills.spec import InvalidSkillError
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.markdown import LONGEST, to_html
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from tests.api.server import Caller, key_for
from tests.pace import in_time
from tools.credentials.oauth import OAuthError, read_token_response
from tools.mail.headers import split_header
from tools.mail.parts import read_body
from tools.sandbox.languages import interpreter_for
from tools.sandbox.program import Limits, Program
from tools.texts.near_names import closest
from tools.texts.path_pattern import fits, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer

pytestmark = pytest.mark.paced
MOST_SECONDS = 1.0
AT_ONCE = 12
TWICE = "{" + ",".join(f'"name{number}":1' for number in range(24_000)) + ',"z":1,"z":1}'


def _json() -> None:
    with pytest.raises(UntrustedJSONError, match="more than once"):
        parse_untrusted_json(TWICE)


def _token() -> None:
    with pytest.raises(OAuthError):
        read_token_response(httpx.Response(200, text=TWICE), "https://x.example", check="check")


def _glob() -> None:
    parts = parts_of("**/" * 40)
    assert not any(fits(parts, f"{'a/' * 95}{number}") for number in range(2_000))


def _javascript() -> None:
    program = Program("javascript", "\n" * 50_000, {}, Limits())
    assert interpreter_for(program).file.endswith(".cjs")


def _markdown() -> None:
    assert to_html("[" * LONGEST).startswith("<p>This text is shown as written")


def _rendered() -> None:
    assert to_html("- a\n" * 2_900).startswith("<ul>")


def _visible() -> None:
    assert visible("\u202ea" * 500_000).startswith("\\u202ea")


def _schema() -> None:
    schema: dict[str, Any] = {"items": {"enum": [f"x{number}" for number in range(15_000)]}}
    assert validate(schema, ["y"] * 80_000)


def _front_matter() -> None:
    text = f"---\nname: a\ndescription: b\nmetadata: {{a: 0x{'f' * 5_000}}}\n---\nx"
    with pytest.raises(InvalidSkillError):
        front_matter.parse(text)


def _mail() -> None:
    raw = b"Content-Type: text/html\n\n" + b"<" * 1_000_000
    assert read_body(*split_header(raw)).text


def _name() -> None:
    assert closest("read_file_" * 100_000, [f"read_file_{number}" for number in range(500)]) == ()


CASES: dict[str, Callable[[], None]] = {
    "a name twice in JSON": _json,
    "a name twice in a token": _token,
    "forty folders in a pattern": _glob,
    "50,000 lines of JavaScript": _javascript,
    "200,000 brackets": _markdown,
    "a list of 2,900 lines": _rendered,
    "hidden characters": _visible,
    "a long enum and a long list": _schema,
    "a long number in YAML": _front_matter,
    "a mail of angles": _mail,
    "a name of a megabyte": _name,
}


@pytest.mark.parametrize("name", CASES)
async def test_given_a_hostile_text_when_read_then_a_loop_beside_it_waits_less_than_a_second(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    work = asyncio.ensure_future(asyncio.to_thread(CASES[name]))
    longest, began = 0.0, time.monotonic()
    while not work.done():
        before = time.monotonic()
        await asyncio.sleep(0.001)
        longest = max(longest, time.monotonic() - before)
    await work
    record_property(f"note:{name}: seconds", round(time.monotonic() - began, 3))
    record_property(f"note:{name}: waited", round(longest, 3))
    in_time(longest, MOST_SECONDS)


def test_given_a_dozen_hostile_requests_when_health_is_asked_then_it_answers_within_a_second(
    web: WebServer, workspace: Workspace, record_property: Callable[[str, object], None]
) -> None:
    caller = Caller(web, key_for(workspace))
    headers = {"content-type": "application/json"}

    def ask(_: int) -> int:
        return caller.http.post("/schedules/preview", content=TWICE, headers=headers).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = [threads.submit(ask, number) for number in range(AT_ONCE)]
        waits = []
        while not all(answer.done() for answer in answers):
            before = time.monotonic()
            assert caller.get("/health").status_code == 200
            waits.append(time.monotonic() - before)
    assert [answer.result() for answer in answers] == [400] * AT_ONCE
    record_property("note:health: waited", round(max(waits), 3))
    in_time(max(waits), MOST_SECONDS)
