"""Commands that only read load the apps whose tables they read, unless tables are to be made."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.command import ROOT

COMMANDS = (
    *("status", "runs list", "usage", "deliveries", "memory list", "knowledge list"),
    *("channels list", "keys list", "users list", "audit verify", "fleet status"),
)
#: Of what the other apps need, and of apps that are not loaded.
LEFT_OUT = (
    "celery",
    "django_celery_beat",
    "django.contrib.admin",
    "scheduling",
    "tools.calls.pipeline",
)
_RUN = f"""
import sys
from heartbit_site.cli.main import main
for command in {COMMANDS!r}:
    sys.argv = ["heartbit", *command.split()]
    try:
        main()
    except SystemExit as left:
        print("left", left.code)
print([name for name in {LEFT_OUT!r} if name in sys.modules])
"""
_LOAD_ALL = """
from django.apps import apps
from heartbit_site.cli.installation import startup
from heartbit_site.environment import read
from heartbit_site.extra_apps import load_left_out_apps
startup.set_up_django(read(), reads_only=True)
before = len(apps.get_app_configs())
load_left_out_apps()
from scheduling.models import Schedule
from django.conf import settings
print(before, len(apps.get_app_configs()) == len(settings.INSTALLED_APPS), Schedule.objects.count())
"""


def _ran(program: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("database")
def test_commands_that_read_import_no_admin_no_celery_and_no_tool() -> None:
    *printed, found = _ran(_RUN).splitlines()
    codes = [line for line in printed if line.startswith("left")]
    assert codes == ["left 0"] * len(COMMANDS)
    assert found == "[]"


@pytest.mark.usefixtures("database")
def test_given_tables_to_be_made_then_the_apps_that_were_left_out_are_loaded() -> None:
    assert _ran(_LOAD_ALL).split()[:2] == ["6", "True"]
