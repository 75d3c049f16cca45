"""Tell workspaces how far their quotas are used up: into the audit, and to their webhooks.

It is looked for, as webhooks look for ends (docs/decisions/0009): a run that spends never waits for
the audit's chain, which is locked until its writer's transaction ends. Each quota is told of once
in its period when it is nearly used up (``quota.warning``), and once when it is
(``quota.reached``).
"""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection, transaction

logger = logging.getLogger(__name__)


def tell_of_quotas() -> int:
    """Look, and tell; how many entries were written. Any number of processes may do so at once."""
    return sum(map(_tell_if_it_can_be, workspaces_to_tell()))


def workspaces_to_tell() -> list[int]:
    """Those of which there is something to tell."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_quotas_to_tell()")
        return [workspace for (workspace,) in cursor.fetchall()]


def _tell_if_it_can_be(workspace_id: int) -> int:
    """A workspace that cannot be told holds up no other; the next look tries it again."""
    try:
        return _tell(workspace_id)
    except DatabaseError:
        logger.exception("workspace %s could not be told of its quotas", workspace_id)
        return 0


@transaction.atomic
def _tell(workspace_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_tell_of_quotas(%s)", [workspace_id])
        (told,) = cursor.fetchone()
    return int(told)
