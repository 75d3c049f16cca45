"""The checks of services: database, migrations, secrets, Valkey, the direct URL, workers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import psycopg
import redis
from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.models import F, Q
from kombu.exceptions import KombuError

from agents.models import WorkerHeartbeat
from agents.reads.fleet import read_fleet
from heartbit_site.base import secrets
from heartbit_site.base.actions.rotate_secrets import secret_columns
from heartbit_site.cli.doctor.examine import Check
from heartbit_site.cli.terminal.output import one_line
from heartbit_site.environment import celery_tls
from heartbit_site.first_start import EARLY

MINIMUM_POSTGRES: Final = 150_000
PATIENCE_SECONDS: Final = 5
NOTICE_SECONDS: Final = 2.0
CHANNEL: Final = "heartbit_doctor"


def _postgres() -> list[Check]:
    try:
        with _connect(settings.DATABASE_URL) as session:
            version = session.info.server_version
            found = session.execute(
                "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
            ).fetchone()
    except psycopg.Error as error:
        return [_unreachable("postgres", error, "DATABASE_URL, or unset it for the embedded one")]
    text = f"version {version // 10_000}.{version % 10_000}"
    if version < MINIMUM_POSTGRES:
        return [Check("postgres", "fail", text, "Heartbit needs PostgreSQL 15 or newer.")]
    vector = f"pgvector {found[0]}" if found else "no pgvector"
    return [Check("postgres", "ok", f"{text}, {vector}"), *_migrations()]


def _connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE_SECONDS)


def _migrations() -> list[Check]:
    try:
        executor = MigrationExecutor(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return [Check("migrations", "fail", _reason(error), "See the database's log.")]
    if not EARLY.isdisjoint(executor.loader.applied_migrations):
        return [
            Check(
                "migrations",
                "fail",
                "the database was made before Heartbit's first release",
                "Begin with an empty one, by another HEARTBIT_STATE_DIR or DATABASE_URL.",
            )
        ]
    if plan:
        detail = f"{len(plan)} to apply; the next command applies them"
        return [Check("migrations", "warn", detail)]
    return _models_ahead(executor.loader) or [Check("migrations", "ok", "the tables are current")]


def _models_ahead(loader: MigrationLoader) -> list[Check]:
    """Return a failure for each app whose models are ahead of its migrations, or that has none."""
    now = ProjectState.from_apps(apps)
    changes = MigrationAutodetector(loader.project_state(), now).changes(loader.graph)
    found = dict.fromkeys(changes, "its models differ from its migrations")
    tables = set(connection.introspection.table_names())
    for label in sorted(loader.unmigrated_apps):
        models = apps.get_app_config(label).get_models()
        missing = [one._meta.label for one in models if one._meta.managed]
        missing = [name for name in missing if apps.get_model(name)._meta.db_table not in tables]
        if missing:
            found[label] = f"it has no migrations, and no table for {', '.join(missing)}"
    return [
        Check(
            "migrations",
            "fail",
            f"the app {label}: {detail}",
            f"`django-admin makemigrations {label} --settings {settings.SETTINGS_MODULE}` writes "
            "them; the next command applies them.",
        )
        for label, detail in found.items()
    ]


def _secrets() -> list[Check]:
    """Count the stored secrets that no key of this machine can decrypt."""
    stored = [
        (
            str(model._meta.verbose_name_plural),
            model._default_manager.annotate(secret_text=F(column)).exclude(secret_text=""),
        )
        for model, column in secret_columns()
    ]
    if not any(rows.exists() for _, rows in stored):
        return []  # the keys are made when the first secret is stored
    known = Q()
    for prefix in secrets.prefixes():
        known |= Q(secret_text__startswith=prefix)
    lost: Counter[str] = Counter()
    for name, rows in stored:
        lost[name] += rows.exclude(known).count()
    if not lost.total():
        return [Check("encryption keys", "ok", "all stored secrets have a key that is here")]
    which = ", ".join(f"{count} of {name}" for name, count in lost.items() if count)
    fix = (
        "Add the key that they were stored with to HEARTBIT_ENCRYPTION_KEYS (or encryption_keys in "
        "the state directory), the same on every machine, or enter them again."
    )
    return [Check("encryption keys", "fail", f"secrets that no key here decrypts: {which}", fix)]


def _valkey() -> list[Check]:
    server = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=PATIENCE_SECONDS,
        socket_timeout=PATIENCE_SECONDS,
    )
    try:
        info = server.info("server")
        policy = server.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction")
    except redis.RedisError as error:
        return [_unreachable("valkey", error, "REDIS_URL, or unset it for the embedded one")]
    finally:
        server.close()
    version = info.get("valkey_version") or info.get("redis_version") or "unknown"
    if policy != "noeviction":
        fix = "Set maxmemory-policy to noeviction: others throw queued messages away."
        return [Check("valkey", "fail", f"version {version}, maxmemory-policy {policy}", fix)]
    return [Check("valkey", "ok", f"version {version}"), *_broker()]


def _broker() -> list[Check]:
    """Check that Celery reaches Valkey too, which reads the address in its own way."""
    from heartbit_site.celery import app  # noqa: PLC0415  slow; not every command needs it

    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=PATIENCE_SECONDS)
        results: Any = app.backend  # the stubs know no backend of Valkey
        results.client.ping()
    except (KombuError, redis.RedisError, ValueError) as error:
        return [_unreachable("broker", error, "REDIS_URL")]
    options = celery_tls(settings.REDIS_URL) or {}
    if options.get("ssl_check_hostname") is False and options["ssl_cert_reqs"] != "none":
        fix = "Leave ssl_check_hostname out of REDIS_URL, or get a certificate of that host."
        return [Check("broker", "warn", "the host of its certificate is not checked", fix)]
    if options.get("ssl_cert_reqs") == "none":
        fix = "Leave ssl_cert_reqs out of REDIS_URL, or name your authority with ssl_ca_certs."
        return [Check("broker", "warn", "its certificate is not checked", fix)]
    return [Check("broker", "ok", "messages and results pass")]


def _workers() -> list[Check]:
    found = list(WorkerHeartbeat.objects.serving())
    if not found:
        detail = "none: what is submitted waits"
        return [Check("workers", "warn", detail, "`heartbit serve` starts one.")]
    names = ", ".join(f"{worker.name} ({', '.join(worker.queues)})" for worker in found)
    workers = Check("workers", "ok", f"{len(found)}: {names}")
    return [workers, *(Check("fleet", "warn", problem) for problem in read_fleet().problems)]


def _direct() -> list[Check]:
    """Check that notifications arrive, which a transaction pooler would swallow."""
    began = time.monotonic()
    try:
        with (
            _connect(settings.DATABASE_DIRECT_URL) as ear,
            _connect(settings.DATABASE_URL) as mouth,
        ):
            ear.execute(f"LISTEN {CHANNEL}")
            mouth.execute(f"NOTIFY {CHANNEL}")
            heard = list(ear.notifies(timeout=NOTICE_SECONDS, stop_after=1))
    except psycopg.Error as error:
        return [_unreachable("direct database", error, "DATABASE_DIRECT_URL")]
    if heard:
        took = round((time.monotonic() - began) * 1000)
        return [Check("direct database", "ok", f"notifications arrive ({took} ms with connecting)")]
    detail = "notifications do not arrive: a transaction pooler, or another database"
    fix = (
        "Set DATABASE_DIRECT_URL to the same database without the pooler; until then cancels "
        "are slow and the heartbeat alone tells who is alive."
    )
    return [Check("direct database", "fail", detail, fix)]


def _unreachable(name: str, error: Exception, setting: str) -> Check:
    return Check(name, "fail", f"cannot be reached: {_reason(error)}", f"Check {setting}.")


def _reason(error: Exception) -> str:
    return one_line(str(error).strip().partition("\n")[0], 200) or type(error).__name__


LOOKS: Final[tuple[Callable[[], list[Check]], ...]] = (
    *(_postgres, _secrets, _valkey, _direct, _workers),
)
