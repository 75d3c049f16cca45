"""Every list and form of the admin in every look: accessible, fitting, with symbols and room.

Three test files share it, by app, so that they run beside each other: ``test_admin_pages_*``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from django.contrib import admin
from django.urls import NoReverseMatch, reverse
from django_celery_beat import models as beat

from agents.models import Agent, AgentVersion
from heartbit_site import urls
from tests.admin import rows
from tests.admin.rich_rows import create_rich_rows
from tests.web.dates import other_dates
from tests.web.looks import faults
from tests.web.matrix_world import MAKERS
from tests.web.people import member, person
from tests.web.waiting_calls import unserved

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from django.db.models import Model

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

assert urls.urlpatterns, "importing it registers every model"
#: Packages whose rows write dates into their own names.
OF_OTHERS = ("axes.", "django_celery_beat.")
OTHERS = {
    "settings": "/admin/",
    "templates": "/admin/agents/agent/add_from_template/",
    "agent of a template": "/admin/agents/agent/add/?template=support",
    "comparison": "/admin/agents/agentversion/{version}/compare/",
    "credential": "/admin/tools/credential/add/?kind=imap",
}
#: All parts of a form at once, which the theme shows one at a time.
UNFOLDED = """
const folded = "main :is(.tab-wrapper, [data-inline-type], details)";
for (const part of document.querySelectorAll(folded)) {
  part.style.display = "";
  part.open = true;
}"""


@pytest.fixture
def filled(workspace: Workspace) -> Iterator[Workspace]:
    """A workspace with a row of each model; those of the installation are taken back."""
    tables = (beat.PeriodicTask, beat.IntervalSchedule, beat.CrontabSchedule)
    others = (beat.SolarSchedule, beat.ClockedSchedule)
    before = {
        table: set(table.objects.values_list("pk", flat=True)) for table in (*tables, *others)
    }
    Agent.objects.filter(workspace=workspace).update(queue="by-hand")  # which nobody serves
    rows.tree(workspace)
    unserved(workspace)
    create_rich_rows(workspace, member(workspace, "viewer"))  # with limits that stop runs
    MAKERS["webhook_id"](workspace)
    MAKERS["delivery_id"](workspace)
    MAKERS["delivery"](workspace)
    yield workspace
    for table, known in before.items():
        table.objects.exclude(pk__in=known).delete()


def pages_of(workspace: Workspace, apps: Collection[str]) -> Iterator[tuple[str, str]]:
    """The list of each model, a form of one row, and that of a new one, by name."""
    for model in admin.site._registry:
        if model._meta.app_label not in apps:
            continue
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield f"{model._meta.label_lower} list", reverse(f"{name}_changelist")
        if (row := row_of(model, workspace)) is not None:
            yield f"{model._meta.label_lower} form", reverse(f"{name}_change", args=[row.pk])
        with contextlib.suppress(NoReverseMatch):
            yield f"{model._meta.label_lower} add", reverse(f"{name}_add")
    version = AgentVersion.objects.filter(agent__workspace=workspace).earliest("pk")
    for title, path in OTHERS.items():
        if path.split("/")[2] in apps:
            yield title, path.format(version=version.pk)


def row_of(model: type[Model], workspace: Workspace) -> Model | None:
    """The newest row, of the workspace where the model has one."""
    found = model._default_manager.order_by("-pk")
    if any(field.name == "workspace" for field in model._meta.fields):
        found = found.filter(workspace=workspace)
    return found.first()


def look_at(
    visitors: Visitors, filled: Workspace, apps: Collection[str], *, part: int = 0, parts: int = 1
) -> None:
    """Find nothing wrong with any page of some apps, at any width, in light and dark.

    Args:
        visitors: Browsers.
        filled: A workspace with rows.
        apps: Labels of the apps.
        part: Which of so many equal parts of the pages, from 0.
        parts: How many there are.
    """
    visitor = visitors(user=person(operator=True))
    visitor.expect("403")  # an address for a new row, where there is none
    found = {}
    for name, path in list(pages_of(filled, apps))[part::parts]:
        answer = visitor.go(path)
        assert answer is not None
        if answer.status == 403 and name.endswith(" add"):
            continue
        assert answer.status == 200, name
        visitor.page.evaluate(UNFOLDED)
        dates = [] if name.startswith(OF_OTHERS) else other_dates(visitor.page.content())
        problems = [*faults(visitor.page), *dates, *visitor.problems()]
        if problems:
            found[name] = problems
        visitor.errors.clear()
    assert found == {}, "\n".join(f"{name}: {one}" for name, ones in found.items() for one in ones)
