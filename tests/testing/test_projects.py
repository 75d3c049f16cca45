"""The plugin in projects as people have them: beside pytest-django, without and with settings.

One of them makes the tables of servers of its own, which takes longer than all else; the others
name an installation that has them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.examples.separate import separate
from tests.testing.page import EXAMPLES, PAGE, written_test

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_, _, SHOP_SETTINGS, SHARED = EXAMPLES
(COMMAND,) = re.findall(r"^HEARTBIT_EXTRA_APPS=shop python -m (pytest .*)$", PAGE, re.MULTILINE)

MODELS = """
from django.db import models

class Order(models.Model):
    number = models.CharField(max_length=20)
    status = models.CharField(max_length=20)
"""
MIGRATION = """
from django.db import migrations, models

class Migration(migrations.Migration):
    operations = [
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("number", models.CharField(max_length=20)),
                ("status", models.CharField(max_length=20)),
            ],
        )
    ]
"""
#: An agent that reads the project's own table.
SHOP_TEST = """
from heartbit_site.base.toolspec import Effect, tool
from heartbit_site.library import Heartbit
from heartbit_site.testing import calls

@tool(effect=Effect.PURE)
def order_status(number: str) -> str:
    \"\"\"Tell the status of an order.\"\"\"
    from shop.models import Order
    return Order.objects.get(number=number).status

clerk = Heartbit().agent("clerk", "Answer customers.", tools=[order_status])

def test_the_agent_reads_the_shop(heartbit_run):
    from shop.models import Order
    Order.objects.create(number="A1", status="sent")
    asked = calls(("order_status", {"number": "A1"}))
    run = heartbit_run(clerk, "Where is A1?", model=[asked, "Sent."])
    run.assert_succeeded()
    assert run.assert_called("order_status").result == "sent"
"""
ROWS_TEST = """
import pytest

@pytest.mark.django_db
def test_a_row_of_the_shop():
    from shop.models import Order
    Order.objects.create(number="B2", status="new")
    assert Order.objects.filter(number="B2").count() == 1
"""
#: Settings as `django-admin startproject` writes them, in short: none of Heartbit's.
FOREIGN_SETTINGS = """
SECRET_KEY = "x"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def shop(folder: Path, settings: str) -> None:
    write(
        folder,
        {
            "shop/__init__.py": "",
            "shop/settings.py": settings,
            "shop/models.py": MODELS,
            "shop/migrations/__init__.py": "",
            "shop/migrations/0001_initial.py": MIGRATION,
            "pytest.ini": "[pytest]\npythonpath = .\nDJANGO_SETTINGS_MODULE = shop.settings\n",
            "test_agent.py": SHOP_TEST,
        },
    )


@pytest.fixture
def installation(django_db_setup: None) -> Iterator[dict[str, str]]:
    """The variable that names an installation with Heartbit's tables."""
    with separate({}) as made:
        yield {"HEARTBIT_STATE_DIR": str(made.state.path)}


def play(folder: Path, *words: str, **variables: str) -> str:
    """Run pytest with all plugins in a project that knows no installation; return what it said."""
    ours = ("HEARTBIT_", "DATABASE_URL", "DJANGO_SETTINGS", "PYTEST_", "COV_")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ours) and "API_KEY" not in name
    }
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        # An installation of this machine would be here: the tests must not touch it.
        env=environment | variables | {"XDG_STATE_HOME": str(folder / "installed")},
        check=False,
    )
    assert not (folder / "installed").exists()
    return ended.stdout + ended.stderr


@pytest.mark.timeout(300)
def test_a_project_without_settings_where_pytest_django_is_installed(
    tmp_path: Path, installation: dict[str, str]
) -> None:
    write(tmp_path, {"test_clerk.py": written_test(), "test_other.py": "def test_x():\n    pass\n"})
    said = play(tmp_path, **installation)
    assert "2 passed" in said, said


@pytest.mark.timeout(300)
def test_a_project_with_settings_built_on_heartbit_s_and_tests_of_its_own_rows(
    tmp_path: Path,
) -> None:
    shop(tmp_path, SHOP_SETTINGS)
    both = "import pytest\n@pytest.mark.django_db\ndef test_both(heartbit_run): pass\n"
    write(tmp_path, {"conftest.py": SHARED, "test_rows.py": ROWS_TEST, "test_both.py": both})
    said = play(tmp_path, "test_rows.py", "test_both.py", "test_agent.py")
    assert "2 passed, 1 error" in said, said
    assert "heartbit_run and the mark django_db exclude each other" in said


@pytest.mark.timeout(300)
def test_a_project_with_settings_of_its_own_names_heartbit_s_for_the_tests_of_agents(
    tmp_path: Path, installation: dict[str, str]
) -> None:
    shop(tmp_path, FOREIGN_SETTINGS)
    write(tmp_path, {"test_rows.py": ROWS_TEST})
    said = play(tmp_path)
    assert "1 passed, 1 error" in said, said
    assert "DJANGO_SETTINGS_MODULE is 'shop.settings', which are not Heartbit's settings" in said
    _, option, _ = COMMAND.split()
    said = play(tmp_path, option, "test_agent.py", HEARTBIT_EXTRA_APPS="shop", **installation)
    assert "1 passed" in said, said
