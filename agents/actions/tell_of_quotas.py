"""Tell workspaces how far their quotas are used up: into the audit, and to their webhooks.

It is looked for, as webhooks look for ends (docs/decisions/0009): a run that spends never waits for
the audit's chain, which is locked until its writer's transaction ends. Each quota is told of once
in its period when it is nearly used up (``quota.warning``), and once when it is
(``quota.reached``).
"""

from __future__ import annotations

from django.db import connection, transaction


def tell_of_quotas() -> int:
    """Look, and tell; how many entries were written. Any number of processes may do so at once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_quotas_to_tell()")
        workspaces = [workspace for (workspace,) in cursor.fetchall()]
    return sum(map(_tell, workspaces))


@transaction.atomic
def _tell(workspace_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT heartbit_tell_of_quotas(%s)", [workspace_id])
        (told,) = cursor.fetchone()
    return int(told)
