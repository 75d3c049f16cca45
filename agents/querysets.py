"""Named queries of runs, journals, tool calls and waits.

``readable`` decides who reads private conversations and their runs (docs/decisions/0073): a list
filters its rows by it, and ``find_run`` and ``find_conversation`` find no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import hexdigits
from typing import Final, TypeVar
from uuid import UUID

from django.db.models import (
    BigIntegerField,
    BooleanField,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Now
from django.utils import timezone

from agents.choices import CallStatus, RunStatus
from agents.errors import RunNotFoundError
from agents.journal.waits import ANSWER, APPROVAL, OUTCOME, answered_by, approval_key
from agents.models import Artifact, BlackboardEntry, Grant, Run, RunEvent, ToolCall, Wait
from heartbit_site.base.access import Access
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_all

Row = TypeVar("Row")

_STATUS: Final = """
    SELECT id, status FROM agents_run WHERE workspace_id = %s AND id BETWEEN %s AND %s
        AND (private_to_id IS NULL OR private_to_id = %s::bigint) LIMIT 2
"""
SHORTEST_PREFIX = 8  # characters of an id's prefix


def readable(access: Access, path: str = "") -> Q:
    """Select the rows that a caller may read: of no private run or conversation of another person.

    Args:
        access: The caller; who is no person, such as a key of a command, reads nothing private.
        path: Path from the rows to the run or the conversation, e.g. ``run__``; rows without one
            are selected.
    """
    mine = Q() if access.user_id is None else Q(**{f"{path}private_to": access.user_id})
    return Q(**{f"{path}private_to": None}) | mine


def of_readable_run(user_id: int | None) -> Q:
    """Select rows whose ``run_id``, without a foreign key, is that of no private run of others."""
    private = Run.objects.filter(pk=OuterRef("run_id"), private_to__isnull=False)
    return ~Q(Exists(private.exclude(private_to=user_id) if user_id is not None else private))


def asked_of(access: Access, path: str = "run__") -> Q:
    """Select rows about calls and waits that a caller may read while they wait for a person.

    Who may decide sees those of private runs, too.
    """
    return Q() if access.allows("approvals:decide") else readable(access, path)


def find_run(access: Access, run_id: str | UUID, *, asking: bool = False, call_id: str = "") -> Run:
    """Return the run with that id or prefix of an id (8 characters or more) for a caller.

    Args:
        access: The caller.
        run_id: The id, or its prefix.
        asking: True: who may decide finds each run that has asked people, too.
        call_id: With ``asking``, the call that it has asked about; empty: any.

    Raises:
        RunNotFoundError: The caller may read no run with that id, or several have that prefix.
    """
    seen = readable(access)
    if asking and access.allows("approvals:decide"):
        calls = {"call_id": call_id} if call_id else {}
        asked = Wait.objects.filter(run__root=OuterRef("root"), asks_person=True, **calls)
        seen |= Q(Exists(asked))
    return _find_run(Run.objects.filter(seen), access.workspace, run_id)


def find_any_run(workspace: Workspace, run_id: str | UUID) -> Run:
    """Return a run as ``find_run`` does, also a private one: for local commands and programs.

    Raises:
        RunNotFoundError: As for ``find_run``.
    """
    return _find_run(Run.objects.all(), workspace, run_id)


def _find_run(runs: QuerySet[Run], workspace: Workspace, run_id: str | UUID) -> Run:
    span = id_range(str(run_id))
    if span is None:
        return _only([], workspace, run_id)
    # In the order of ids: newest first, the planner would walk all runs of the workspace.
    rows = runs.filter(workspace=workspace, pk__range=span).order_by("pk")[:2]
    return _only(rows, workspace, run_id)


def find_run_status(access: Access, run_id: str | UUID) -> tuple[UUID, str]:
    """Return the whole id and the status of the run that ``find_run`` finds; costs less.

    Raises:
        RunNotFoundError: As for ``find_run``.
    """
    span = id_range(str(run_id))
    rows: list[tuple[UUID, str]] = []
    if span is not None:
        values = [access.workspace.pk, *span, access.user_id]
        rows = fetch_all(_STATUS, values, prepare=True)
    return _only(rows, access.workspace, run_id)


def _only(rows: Iterable[Row], workspace: Workspace, run_id: str | UUID) -> Row:
    found = list(rows)
    if len(found) != 1:
        text = str(run_id)
        if _is_too_short(text):
            problem = f"{text} is too short for the beginning of a run's id: give at least "
            raise RunNotFoundError(f"{problem}{SHORTEST_PREFIX} characters of it.")
        problem = "several runs begin" if found else "no run begins"
        raise RunNotFoundError(
            f"In {workspace.slug} {problem} with {text}: `heartbit status` lists the last ones; "
            "archived ones are in files alone."
        )
    return found[0]


def id_range(beginning: str) -> tuple[UUID, UUID] | None:
    """Return the first and the last id with a prefix; None if too short or not hexadecimal."""
    digits = beginning.strip().lower().replace("-", "")
    if not (SHORTEST_PREFIX <= len(digits) <= 32 and set(digits) <= set(hexdigits)):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def _is_too_short(beginning: str) -> bool:
    """Return True if only the length keeps a text from being the beginning of an id."""
    return (
        id_range(beginning) is None and id_range(beginning.ljust(SHORTEST_PREFIX, "0")) is not None
    )


def valid_grants(workspace: Workspace) -> QuerySet[Grant]:
    """Return the standing permissions that are neither revoked nor expired nor of an ended run."""
    rows = Grant.objects.filter(workspace=workspace, revoked_at=None)
    lasting = Q(expires_at=None) | Q(expires_at__gt=Now())
    return rows.filter(lasting, Q(root=None) | Q(root__finished_at=None))


def find_past_run(access: Access, run_id: str | UUID) -> Run:
    """Return a run as ``find_run``, with the version, agent and workspace for its history.

    Raises:
        RunNotFoundError: As for ``find_run``.
    """
    found = find_run(access, run_id)
    return Run.objects.select_related("version__agent", "workspace").get(pk=found.pk)


def tree(root_id: UUID) -> list[Run]:
    """Return all runs of a tree, oldest first."""
    return list(tree_rows(root_id))


def tree_rows(root_id: UUID) -> QuerySet[Run]:
    """Return the query of all runs of a tree, oldest first."""
    return Run.objects.filter(root_id=root_id).order_by("created_at", "id")


def stored_artifacts(root_id: UUID) -> QuerySet[Artifact]:
    """Return the artifacts that the runs of a tree have stored, the oldest first."""
    return Artifact.objects.filter(run__root_id=root_id)


def blackboard(root_id: UUID) -> QuerySet[BlackboardEntry]:
    """Return the unexpired entries that a tree shares."""
    return BlackboardEntry.objects.filter(unexpired(), root_id=root_id)


def unexpired() -> Q:
    """Select the entries whose time to live has not passed."""
    return Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())


def events_after(run_id: UUID, seq: int) -> list[RunEvent]:
    """Return a run's journal after ``seq``."""
    return list(RunEvent.objects.filter(run_id=run_id, seq__gt=seq).order_by("seq"))


def calls_waiting(workspace: Workspace | None = None) -> QuerySet[ToolCall]:
    """Return the tool calls that wait for approval, oldest first, with their runs.

    Args:
        workspace: Workspace to read; None, for the admin's superusers: all.
    """
    return _calls_asked_about(APPROVAL.name, workspace).filter(
        run__status__in=[RunStatus.WAITING, RunStatus.RUNNING],
        status=CallStatus.WAITING,
        approval_view__isnull=False,
    )


def is_asked(user_id: int | None) -> Q:
    """Return the condition for waiting calls that a person may decide, as far as groups say."""
    user = Value(user_id, output_field=BigIntegerField())
    function = "heartbit_is_asked"
    return Q(Func(F("approval_view"), user, function=function, output_field=BooleanField()))


def uncertain_calls(workspace: Workspace | None = None) -> QuerySet[ToolCall]:
    """Return the calls of unknown outcome that a person has to resolve, oldest first.

    Args:
        workspace: Workspace to read; None, for the admin's superusers: all.
    """
    return _calls_asked_about(OUTCOME.name, workspace).filter(
        run__finished_at__isnull=True, status=CallStatus.UNCERTAIN
    )


def _calls_asked_about(kind: str, workspace: Workspace | None) -> QuerySet[ToolCall]:
    scope = {} if workspace is None else {"run__workspace": workspace}
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        kind=kind,
        asks_person=True,  # as of every wait of these kinds: so the index of such waits serves
        resolved_at__isnull=True,
    )
    found = ToolCall.objects.filter(Exists(asked), **scope)
    return found.select_related("run", "run__version__agent").order_by("id")


def waits_for_people(workspace: Workspace | None = None) -> QuerySet[Wait]:
    """Return the open waits that a person ends, of any kind, oldest first.

    Args:
        workspace: Workspace to read; None, for the admin's superusers: all.
    """
    scope = {} if workspace is None else {"run__workspace": workspace}
    found = Wait.objects.filter(
        **scope, asks_person=True, resolved_at__isnull=True, run__finished_at__isnull=True
    )
    return found.select_related("run__workspace").order_by("id")


def waits_for_answers(workspace: Workspace | None = None) -> QuerySet[Wait]:
    """Return those of ``waits_for_people`` that ``agents.journal.waits.ANSWER`` ends."""
    return waits_for_people(workspace).filter(kind__in=answered_by(ANSWER))


def shown_tool(call: ToolCall) -> str:
    """Return the name of the tool that a call waiting for approval would run."""
    shown = call.approval_view or {}
    return str(shown.get("tool", call.tool))


def approval_of(call: ToolCall) -> str:
    """Return the key of the wait that a decision about the call resolves."""
    return approval_key(call.call_id, int((call.approval_view or {}).get("question", 1)))
