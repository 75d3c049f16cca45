"""Create workspaces, and change their settings."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from heartbit_site.base.audit import Actor, changes, record_workspace
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require

_SETTINGS = ("name", "default_model", "retention_days", "tier", "unknown_prices")


class WorkspaceExistsError(ConflictError):
    """A workspace of that short name exists."""


@transaction.atomic
def save_workspace(row: Workspace, *, by: Actor) -> None:
    """Write a new or changed workspace.

    Args:
        row: The workspace; its short name never changes.
        by: The actor, for the audit.

    Raises:
        ConfigurationError: A setting is not valid.
        WorkspaceExistsError: The short name is taken.
        ForbiddenError: The actor may not manage the workspace; or, for a new one or another tier,
            the installation.
    """
    before = Workspace.objects.select_for_update().filter(pk=row.pk).first() if row.pk else None
    if before is None or before.tier_id != row.tier_id:
        require(by, "fleet:manage", workspace_id=None)
    if before is not None:
        require(by, "workspace:manage", workspace_id=row.pk)
    try:
        row.clean_fields(exclude=["tier"])
    except ValidationError as error:
        name, problems = next(iter(error.message_dict.items()))
        with about(name):
            raise ConfigurationError(f"The {name.replace('_', ' ')}: {problems[0]}") from None
    if before is None and Workspace.objects.filter(slug=row.slug).exists():
        with about("slug"):
            raise WorkspaceExistsError(f"There is a workspace {row.slug!r} already.")
    row.save()
    changed = changes(before or Workspace(), row, _SETTINGS)
    if before is None or changed:
        record_workspace(by, f"workspace.{'change' if before else 'add'}", row, changed)
