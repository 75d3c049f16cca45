"""A form that is opened and saved untouched changes nothing, for each role.

The forms are found: the change page of every model of the admin, and every form with a field on the
work pages. What is sent is read from the page's HTML, as a browser would send it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import lxml.html  # type: ignore[import-untyped]
import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import connection
from django.urls import URLPattern, reverse

from agents.actions.run_request import start_conversation
from agents.models import Conversation, WorkerHeartbeat
from agents.models.draft import DRAFT
from heartbit_site import urls
from heartbit_site.base.models import Role
from heartbit_site.web import urls as web_urls
from memory.models import Passage
from scheduling.models import Schedule
from tests.admin.rich_rows import create_rich_rows
from tests.clients import Client
from tests.starts import start_run
from tests.web.people import member, person
from tools.models import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db

assert urls.urlpatterns, "importing it registers every model"
ROLES = ("superuser", *Role.values)
#: Django's own notes that a page was saved, and who is signed in; workers that other tests run.
NOTES = (LogEntry, Session, WorkerHeartbeat)
#: The one page whose form is an upload: it says so when it is saved without a file.
UPLOAD = "agents.skill"
#: Pages whose forms do something each time they are sent: decide, fork, pause.
ACTS = {"approve-link", "review-link", "run-fork", "health-fleet", "password-forgotten"}
#: Fields that no page shows filled: secrets, uploads, and what is said of one change.
#: Rows and settings of a pattern: filled only where a workflow is made from one.
PATTERN = ("pattern-", "agents-", "__prefix__")
EMPTY = {
    "agents.channel": {"password"},
    "agents.chatapp": {"new_bot_token", "new_signing_secret", "new_app_token"},
    "agents.skill": {"archive"},
    "base.provideraccount": {"key"},
    "django_celery_beat.periodictask": {"regtask"},  # a shortcut to fill in the task
    "memory.document": {"file"},
    "memory.memoryitem": {"reason"},
    "tools.credential": {"field_password", "field_secret"},
    "tools.mcpserver": {"file"},
}


def visitor(workspace: Workspace, role: str) -> Client:
    client = Client(headers={"host": "localhost"})
    given = {"password": "an old pass phrase"}
    is_operator = role == "superuser"
    user = person(operator=True, **given) if is_operator else member(workspace, role, **given)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def stored() -> dict[str, dict[str, Any]]:
    """Every row of every table: settings, versions, audit and all."""
    found: dict[str, dict[str, Any]] = {}
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            if model in NOTES or not model._meta.managed:
                continue
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"SELECT to_jsonb(t)::text FROM {table} t")  # noqa: S608
            rows = [json.loads(row) for (row,) in cursor.fetchall()]
            key = model._meta.pk.attname
            found |= {f"{model._meta.label} {row.get(key, row)}": row for row in rows}
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The rows that were added, removed or changed, with the columns."""
    return [
        f"{name}: {_changed(before.get(name), after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _changed(before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    if before is None or after is None:
        return f"{before} became {after}"
    return str({key: (before[key], after[key]) for key in before if before[key] != after[key]})


def sent(form: Any) -> dict[str, list[str]]:
    """The values of an HTML form as a browser sends them: line ends are CR LF."""
    areas = {area.name for area in form.xpath(".//textarea")}
    data = defaultdict(list)
    for name, value in form.form_values():
        text = value.replace("\r\n", "\n")
        if name in areas:
            text = text.removeprefix("\n")  # which HTML ignores
        data[name].append(text.replace("\n", "\r\n"))
    return dict(data)


def change_pages(client: Client) -> Iterator[tuple[str, str, Any]]:
    """The change page of each row that the visitor may change in the admin, with its form."""
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        for row in model._default_manager.all():
            url = reverse(name, args=[row.pk])
            response = client.get(url)
            if response.status_code == 200:
                page = lxml.html.fromstring(response.content)
                for button in page.xpath("//button[@name='_save']"):
                    yield model._meta.label_lower, url, page.get_element_by_id(button.get("form"))


def editable(form: Any) -> list[Any]:
    """The controls of a form in which something is entered or chosen."""
    kinds = ("hidden", "checkbox", "submit", "button")
    controls = form.xpath(".//textarea|.//select|.//input")
    return [
        one
        for one in controls
        if one.name and one.get("type") not in kinds and one.get("disabled") is None
    ]


@pytest.fixture
def rich(workspace: Workspace) -> Workspace:
    create_rich_rows(workspace, member(workspace, Role.VIEWER))
    return workspace


@pytest.mark.parametrize("role", ROLES)
def test_a_change_page_that_is_saved_untouched_changes_nothing(rich: Workspace, role: str) -> None:
    client = visitor(rich, role)
    problems, seen = [], set()
    before = stored()
    for label, url, form in change_pages(client):
        seen.add(label)
        answer = client.post(url, sent(form) | {"_save": "Save"})
        if answer.status_code != 302 and label != UPLOAD:
            problems.append(f"{url} is refused: {answer.context['errors']}")
        after = stored()
        problems += [f"{url} changes {one}" for one in differences(before, after)]
        before = after
    assert not problems, "\n".join(problems)
    request = client.get(reverse("home")).wsgi_request
    assert seen == {
        model._meta.label_lower
        for model, page in admin.site._registry.items()
        if admin.site.has_permission(request) and page.has_change_permission(request)
    }, "a row of each model is saved"


def test_the_rows_have_a_value_in_each_field(rich: Workspace) -> None:
    filled: defaultdict[str, set[str]] = defaultdict(set)
    fields: defaultdict[str, set[str]] = defaultdict(set)
    for label, _, form in change_pages(visitor(rich, "superuser")):
        names = {one.name for one in editable(form) if not any(p in one.name for p in PATTERN)}
        fields[label] |= {name.split("-")[-1] for name in names}
        filled[label] |= {name.split("-")[-1] for name, texts in sent(form).items() if any(texts)}
    empty = {label: names - filled[label] for label, names in fields.items()}
    assert {label: names for label, names in empty.items() if names} == EMPTY


def work_pages(workspace: Workspace) -> Iterator[str]:
    """The address of each page beside the admin, the API and the links of mails."""
    places = {
        "workspace": workspace.slug,
        "agent": "writer",
        "conversation": start_conversation(workspace, agent="writer").pk,
        "server": McpServer.objects.get(workspace=workspace, sign_in=True).name,
        "passage": Passage.objects.get(base__workspace=workspace).pk,
        "version": 1,
        "test": Conversation.objects.create(workspace=workspace, agent="writer", origin=DRAFT).pk,
        "run": start_run(workspace, "Wait.", agent="writer"),
        "other": start_run(workspace, "Wait too.", agent="writer"),
        "schedule": Schedule.objects.filter(workspace=workspace).earliest("pk").pk,
        "turn": 1,
        "name": "none.png",
        "uidb64": "MQ",
        "token": "none",
    }
    for prefix, pattern in (("", urls), ("web:", web_urls)):
        for page in pattern.urlpatterns:
            if isinstance(page, URLPattern) and page.name and page.name not in ACTS:
                names = [*page.pattern.converters, *(["workspace"] if prefix else [])]
                yield reverse(prefix + page.name, kwargs={name: places[name] for name in names})
    yield f"{reverse('web:credentials', args=[workspace.slug])}?kind=smtp"


@pytest.mark.parametrize("role", ROLES)
def test_a_form_of_a_work_page_that_is_sent_untouched_changes_nothing(
    rich: Workspace, role: str
) -> None:
    client = visitor(rich, role)
    pages = list(work_pages(rich))
    before, forms = stored(), 0
    for url in pages:
        response = client.get(url)
        if response.status_code != 200 or not response.headers["content-type"].startswith("text/h"):
            continue
        page = lxml.html.fromstring(response.content, base_url=url)
        for form in page.forms:
            if form.method == "POST" and editable(form):
                forms += 1
                [button, *_] = form.xpath(".//button")
                pressed = {button.get("name"): button.get("value")} if button.get("name") else {}
                client.post(urljoin(url, form.action or ""), sent(form) | pressed)
                assert differences(before, stored()) == [], url
    assert forms
