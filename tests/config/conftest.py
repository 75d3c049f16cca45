"""Workspaces without agents, in the real database."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def empty(database: None) -> Callable[[], Workspace]:
    """Makes a workspace that has nothing in it."""

    def make() -> Workspace:
        slug = f"c-{secrets.token_hex(6)}"
        return Workspace.objects.create(slug=slug, name=slug)

    return make
