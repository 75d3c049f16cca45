"""First start of an installation: migrations, the default workspace and its team, the admin."""

from __future__ import annotations

import pkgutil
import secrets
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, Error, connection, transaction
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.recorder import MigrationRecorder

from heartbit_site.base import variables
from heartbit_site.base.database_faults import database_fault
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace
from heartbit_site.extra_apps import load_left_out_apps
from heartbit_site.workspaces import find_workspace
from tools.definitions import discovery

MIGRATION_LOCK = 7701  # one process migrates, the others wait
_PAUSE_SECONDS = 0.2
DEFAULT_WORKSPACE = "default"
#: Migrations of databases made before the first release: each of these has one, no later one does.
EARLY = frozenset(
    ("agents", name)
    for name in ("0002_functions", "0002_quota_notices", "0002_calls_write_no_index")
)


@dataclass(frozen=True, slots=True)
class Admin:
    """Credentials of the first admin, to be shown once."""

    name: str
    password: str


def migrate_and_seed() -> Admin | None:
    """Migrate the tables and seed an empty installation.

    A process that has postponed the discovery of tools leaves the catalogue of a current
    installation as it is.

    Returns:
        The admin, when this call created it.

    Raises:
        ConfigurationError: The database cannot be reached, is older than the first release, or was
            migrated for another class of accounts.
    """
    if (
        _applied_migrations() >= _migrations()
        and Workspace.objects.filter(slug=DEFAULT_WORKSPACE).exists()
    ):
        if not discovery.is_postponed():
            _take_tools()
        return None
    load_left_out_apps()
    discovery.discover()
    with _alone():
        _migrate()
        _take_tools()
        return _seed()


@contextmanager
def _alone() -> Iterator[None]:
    """Wait for other processes that migrate, and keep others out.

    The lock belongs to a session of its own: behind a transaction pooler a statement of Django's
    connection could take it in one session and another release it in the next.
    """
    with psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True) as session:
        # A statement that waits for the lock would keep an index from being built concurrently.
        while not _take_lock(session):
            time.sleep(_PAUSE_SECONDS)
        yield


def _take_lock(session: psycopg.Connection[tuple[bool]]) -> bool:
    (taken,) = session.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_LOCK]).fetchone() or (
        False,
    )
    return taken


def _migrate() -> None:
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except InconsistentMigrationHistory as error:
        raise ConfigurationError(
            f"The database was migrated with other settings of Django: {error} Give these settings "
            "a database of their own (DATABASE_URL), or start with the AUTH_USER_MODEL and the "
            "INSTALLED_APPS that it has."
        ) from error


def default_workspace() -> Workspace:
    """Return the workspace of `--workspace`, else of HEARTBIT_WORKSPACE, else `default`.

    Raises:
        NoWorkspaceError: There is no workspace of that name.
    """
    return find_workspace(variables.WORKSPACE.read() or DEFAULT_WORKSPACE)


def unused_admin() -> str | None:
    """Return the first superuser's name while that account has never logged in, else None."""
    admins = get_user_model().objects.filter(is_active=True, is_superuser=True)
    first = admins.order_by("pk").first()
    return first.get_username() if first is not None and first.last_login is None else None


def _take_tools() -> None:
    """Store the tools and skills of this process, and publish the agents whose own changed."""
    # Slow to import, for the processes that know the tools.
    from agents.actions.publish_agent import republish_agents  # noqa: PLC0415
    from agents.actions.skills import record_shipped_skills  # noqa: PLC0415
    from tools.definitions.catalogue import record_installed  # noqa: PLC0415

    record_installed()
    record_shipped_skills()
    republish_agents()


def _applied_migrations() -> Set[tuple[str, str]]:
    try:
        applied = MigrationRecorder(connection).applied_migrations()
    except Error as error:
        fault = database_fault(error)
        if fault is None:
            raise
        raise ConfigurationError(
            f"The database cannot be reached ({fault.reason}): check DATABASE_URL, or unset it to "
            "use the embedded one."
        ) from error
    if not EARLY.isdisjoint(applied):
        raise ConfigurationError(
            "The database was made before Heartbit's first release, and no way leads from its "
            "tables to today's: begin with an empty one, by another HEARTBIT_STATE_DIR or "
            "DATABASE_URL."
        )
    return applied.keys()


def _migrations() -> set[tuple[str, str]]:
    """Return the migrations of all apps as Django records them, by their files' names.

    Importing them for Django's plan would take a short command half as long again.
    """
    return {
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in pkgutil.iter_modules([f"{app.path}/migrations"])
        if not module.ispkg and module.name[0] not in "_~"
    }


@transaction.atomic(using=DEFAULT_DB_ALIAS)
def _seed() -> Admin | None:
    from agents.actions.write_agents import create_default_team  # noqa: PLC0415  seldom

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
