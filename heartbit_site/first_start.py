"""Migrations, the default workspace with its team, and the admin, made once per installation."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from agents.actions.create_default_team import create_default_team
from agents.actions.republish_agents import republish_agents
from heartbit_site.base import variables
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.workspaces import find_workspace
from tools.catalogue import record_installed

MIGRATION_LOCK = 7701  # one process migrates, the others wait
DEFAULT_WORKSPACE = "default"
#: Migrations of databases made before the first release: each of these has one, no later one does.
EARLY = frozenset({("agents", "0002_functions"), ("agents", "0002_quota_notices")})


@dataclass(frozen=True, slots=True)
class Admin:
    """The first admin, to be shown once."""

    name: str
    password: str


def migrate_and_seed() -> Admin | None:
    """Bring tables up to date and seed an empty installation.

    Returns:
        The admin, when this call created it.

    Raises:
        ConfigurationError: The database cannot be reached, or is older than the first release.
    """
    try:
        current = _is_current()
    except OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigurationError(
            f"The database cannot be reached ({reason}): check DATABASE_URL, or unset it to use "
            "the embedded one."
        ) from error
    _refuse_early_tables()
    if current and Workspace.objects.filter(slug=DEFAULT_WORKSPACE).exists():
        _take_tools()
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
        try:
            call_command("migrate", verbosity=0, interactive=False)
            _take_tools()
            return _seed()
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


def default_workspace() -> Workspace:
    """Return the workspace that the command line works in.

    It is that of `--workspace`, else of HEARTBIT_WORKSPACE, else the first one.

    Raises:
        NoWorkspaceError: There is none of that name.
    """
    return find_workspace(variables.WORKSPACE.read() or DEFAULT_WORKSPACE)


def unused_admin() -> str | None:
    """Return the first superuser's name while that account has never logged in, else None."""
    admins = get_user_model().objects.filter(is_active=True, is_superuser=True)
    first = admins.order_by("pk").first()
    return first.get_username() if first is not None and first.last_login is None else None


def _refuse_early_tables() -> None:
    """Refuse tables that were made before the first release.

    Raises:
        ConfigurationError: They were: no migration leads from them to today's.
    """
    if not EARLY.isdisjoint(MigrationRecorder(connection).applied_migrations()):
        raise ConfigurationError(
            "The database was made before Heartbit's first release, and no way leads from its "
            "tables to today's: begin with an empty one, by another HEARTBIT_STATE_DIR or "
            "DATABASE_URL."
        )


def _take_tools() -> None:
    """Store the tools that this process has, and publish the agents whose tools have changed."""
    record_installed()
    republish_agents()


def _is_current() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


@transaction.atomic(using=DEFAULT_DB_ALIAS)
def _seed() -> Admin | None:
    workspace, _ = Workspace.objects.get_or_create(
        slug=DEFAULT_WORKSPACE, defaults={"name": "Default"}
    )
    create_default_team(workspace)
    users = get_user_model().objects
    if users.exists():
        return None
    admin = Admin("admin", secrets.token_urlsafe(12))
    users.create_superuser(admin.name, "", admin.password)
    return admin
