"""The admin's pages of workspaces, people and Celery Beat, in every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.web.admin_looks import filled, look_at

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors

__all__ = ["filled"]


#: All of them would take longer than one test may.
@pytest.mark.parametrize("part", range(3))
def test_given_each_page_then_it_is_accessible_and_fits_in_every_look(
    visitors: Visitors, filled: Workspace, part: int
) -> None:
    apps = ("", "auth", "axes", "base", "django_celery_beat")
    look_at(visitors, filled, apps, part=part, parts=3)
