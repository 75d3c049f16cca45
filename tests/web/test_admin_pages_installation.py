"""The admin's pages of workspaces, people and Celery Beat, in every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.web.admin_looks import filled, look_at

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

__all__ = ["filled"]


def test_given_each_page_then_it_is_accessible_and_fits_in_every_look(
    visitors: Visitors, filled: Workspace
) -> None:
    look_at(visitors, filled, ("", "auth", "axes", "base", "django_celery_beat"))
