"""Times beyond the calendar do no harm in the admin's lists and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.contrib import admin
from django.db.models import DateTimeField
from django.urls import reverse

from heartbit_site import urls
from heartbit_site.base.models import ApiKey

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from heartbit_site.base.models import Workspace

assert urls.urlpatterns, "importing it registers every model"
FAR = ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "10000-01-01", "9999-12-31"]


def lists() -> list[tuple[type[Model], str]]:
    """Each list, with each of its columns that is a time."""
    return [
        (model, field.name)
        for model in admin.site._registry
        for field in model._meta.get_fields()
        if isinstance(field, DateTimeField)
    ]


@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
@pytest.mark.parametrize("moment", FAR[:2])
def test_given_a_far_time_in_a_lists_address_then_the_list_answers(
    browser: Client, moment: str
) -> None:
    assert len(lists()) > 20
    for model, field in lists():
        assert status(browser, model, f"{field}__gte", moment) in {200, 302, 400}, (model, field)


@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
@pytest.mark.parametrize("moment", FAR)
@pytest.mark.parametrize("lookup", ["", "__gte", "__lt", "__date", "__year"])
def test_given_a_far_time_and_any_lookup_then_the_list_answers(
    browser: Client, moment: str, lookup: str
) -> None:
    assert status(browser, ApiKey, f"created_at{lookup}", moment) in {200, 302, 400}


def status(browser: Client, model: type[Model], lookup: str, value: str) -> int:
    """Return the HTTP status of the model's list, filtered this way."""
    names = model._meta.app_label, model._meta.model_name
    address = reverse(f"admin:{names[0]}_{names[1]}_changelist")
    return browser.get(address, {lookup: value}).status_code


@pytest.mark.parametrize(("day", "clock"), [("9999-12-31", "23:59:59"), ("9999-01-01", "00:00")])
def test_given_a_far_end_of_a_key_then_the_form_says_so(
    browser: Client, workspace: Workspace, day: str, clock: str
) -> None:
    data = {"workspace": workspace.pk, "name": "far", "scopes": ["runs:read"]}
    data |= {"expires_at_0": day, "expires_at_1": clock}
    response = browser.post(reverse("admin:base_apikey_add"), data)
    assert response.context["adminform"].form.errors.keys() == {"expires_at"}
    assert not ApiKey.objects.filter(workspace=workspace).exists()
