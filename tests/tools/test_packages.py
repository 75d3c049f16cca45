"""Third-party packages bring tools: real distributions, found by a process that starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from heartbit_site.base.toolspec import Origin
from tools.definitions.packages import broken_packages, packaged_tools

ROOT = Path(__file__).resolve().parents[2]
START = """
import django, logging, sys
from django.conf import settings
logging.basicConfig(format="%(levelname)s %(message)s")
apps = ["django.contrib.contenttypes", "django.contrib.auth", "heartbit_site.base", "tools"]
settings.configure(INSTALLED_APPS=apps, LOGGING_CONFIG=None)
django.setup()
from django.apps import apps
apps.get_app_config("tools").ready()  # a second time changes nothing
from tools.definitions.registry import registry
for spec in registry.values():
    print(spec.name, spec.source, sep="|")
from tools.definitions.packages import broken_packages
for broken in broken_packages():
    print("broken", broken.name, broken.sentence, sep="|")
"""


def distribution(
    folder: Path, name: str, *, entry_points: str, module: str = "", source: str = ""
) -> None:
    """Write what an installer leaves behind."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[heartbit.tools]\n{entry_points}\n")
    if module:
        (folder / f"{module}.py").write_text(
            "from heartbit_site.base.toolspec import tool\n" + dedent(source)
        )


def start(folder: Path) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n{START}"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )


WEATHER = """
    @tool(effect="pure")
    def forecast(city: str) -> str:
        "Tell the weather."
        return city

    @tool
    class OpenUmbrella:
        "Open it."
        def run(self) -> str:
            return "open"
"""


def test_a_module_and_a_single_tool_are_found_with_their_package(tmp_path: Path) -> None:
    distribution(tmp_path, "acme", entry_points="w = wx", module="wx", source=WEATHER)
    distribution(
        tmp_path,
        "ticket",
        entry_points="t = tk:open_ticket",
        module="tk",
        source="""
            @tool
            def open_ticket(title: str) -> str:
                "Open a ticket."
                return title
        """,
    )
    ended = start(tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert {"forecast|acme 1.2", "open_umbrella|acme 1.2", "open_ticket|ticket 1.2"} < set(lines)
    assert "calculate|tools.builtin.arithmetic" in lines


GOOD_AND_BAD = """
    @tool(effect="pure")
    def good() -> str:
        "Do."

    @tool(name="A B")
    def bad() -> str:
        "Do."
"""


@pytest.mark.parametrize(
    ("entry_points", "source", "sentence"),
    [
        ("b = gone", "", "ModuleNotFoundError: No module named 'gone'"),
        ("b = br:nothing", "", "AttributeError"),
        ("b = br", "raise SystemExit(3)", "SystemExit: 3"),
        ("b = br", "x = 1", "ConfigurationError: br has nothing marked with @tool."),
        ("b = br:plain", "def plain(): ...", "br:plain has nothing marked with @tool."),
        ("b = br", GOOD_AND_BAD, "The tool name 'A B'"),
    ],
)
def test_a_broken_package_is_logged_kept_and_left_out(
    tmp_path: Path, entry_points: str, source: str, sentence: str
) -> None:
    distribution(tmp_path, "broken", entry_points=entry_points, module="br", source=source)
    distribution(tmp_path, "acme", entry_points="w = wx", module="wx", source=WEATHER)
    ended = start(tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "forecast|acme 1.2" in ended.stdout.splitlines()
    kept = [line for line in ended.stdout.splitlines() if "broken" in line]
    (line,) = set(ended.stderr.splitlines())
    assert kept == [f"broken|broken 1.2|{line.removeprefix('ERROR ')}"], "none of its tools"
    assert line.startswith("ERROR The tools of broken 1.2 (")
    assert sentence in line


def test_a_name_that_is_taken_stops_the_process_with_both_places(tmp_path: Path) -> None:
    source = """
        @tool
        def calculate(a: int) -> str:
            "Count."
            return str(a)
    """
    distribution(tmp_path, "rival", entry_points="c = rv", module="rv", source=source)
    ended = start(tmp_path)
    assert ended.returncode != 0
    assert (
        "Two tools have the name 'calculate' (tools.builtin.arithmetic and rival 1.2): rename "
        "one of "
        "them." in ended.stderr
    )


def test_a_tool_says_that_a_package_brought_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distribution(tmp_path, "acme", entry_points="w = wx_here", module="wx_here", source=WEATHER)
    monkeypatch.syspath_prepend(tmp_path)
    found = {spec.name: (spec.source, spec.origin) for spec in packaged_tools()}
    assert found == dict.fromkeys(("forecast", "open_umbrella"), ("acme 1.2", Origin.PACKAGE))
    assert broken_packages() == ()


def test_packages_are_broken_only_as_long_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = "a = gone_here\nb = empty_here\nc = empty_here:none"
    distribution(tmp_path, "broken", entry_points=points, module="empty_here", source="x = 1")
    with monkeypatch.context() as path:
        path.syspath_prepend(tmp_path)
        assert list(packaged_tools()) == []
        broken = broken_packages()
    assert [one.name for one in broken] == ["broken 1.2"] * 3, "each entry counts"
    assert sorted(caplog.messages) == sorted(one.sentence for one in broken)
    assert list(packaged_tools()) == []
    assert broken_packages() == ()
