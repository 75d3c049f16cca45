"""No process writes to its log what steers a terminal."""

from __future__ import annotations

import ast
import logging
import logging.config
from operator import itemgetter
from pathlib import Path

import pytest
from django.conf import settings

from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.log_output import CleanFormatter, log_to_stderr
from heartbit_site.cli.terminal import errors
from heartbit_site.cli.terminal.table import Table
from heartbit_site.refusal import refusal
from heartbit_site.web_server.serve import options

ROOT = Path(__file__).parents[2]
HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b1A\u202eb\x7f\x00 c\nd\te"
HARMLESS = "ab c\nd\te"


def log(logger: logging.Logger) -> None:
    """Log hostile text as a message and as an exception's."""
    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError:
        logger.exception("says %s", HOSTILE)


def check(written: str) -> None:
    """Assert that the text was written twice, without what is hostile."""
    assert written.count(HARMLESS) == 2
    assert f"RuntimeError: {HARMLESS}" in written
    assert all(character.isprintable() or character in "\n\t" for character in written)


def test_the_log_on_stderr_is_clean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    log_to_stderr("INFO")
    log(root)
    check(capsys.readouterr().err)


@pytest.mark.parametrize("whose", ["django", "uvicorn"])
def test_the_configured_logs_of_requests_are_clean(whose: str) -> None:
    told = {"django": settings.LOGGING, "uvicorn": options(bind="::1", port=0)["log_config"]}[whose]
    configurator = logging.config.DictConfigurator(told)
    for handler in told["handlers"].values():
        formatter = configurator.configure_formatter(told["formatters"][handler["formatter"]])
        assert isinstance(formatter, CleanFormatter)


def test_every_log_of_heartbit_is_configured_there() -> None:
    """Beside `log_to_stderr` nobody calls `basicConfig`."""
    found = [
        str(file.relative_to(ROOT))
        for package in ("heartbit_site", "agents", "tools", "memory", "scheduling")
        for file in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "basicConfig"
    ]
    assert found == ["heartbit_site/base/log_output.py"]


def test_the_traceback_of_a_debugged_command_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    errors.report(RuntimeError(HOSTILE), debug=True)
    written = capsys.readouterr().err
    assert f"RuntimeError: {HARMLESS}" in written
    assert "\x1b" not in written


def test_the_refusal_of_a_process_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), refusal():
        raise HeartbitError(HOSTILE)
    assert capsys.readouterr().err == f"heartbit: {HARMLESS}\n"


def test_a_table_of_a_hostile_server_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"NAME": itemgetter(0), "STATE": itemgetter(1)}
    Table[tuple[str, str]](columns).print([("x\x1b[2J\nFORGED ok", "\u202eok")])
    assert capsys.readouterr().out.splitlines()[1:] == ["x FORGED ok  ok"]
