"""Cancel the tasks of remote agents whose calls have ended without them."""

from __future__ import annotations

import logging
from typing import Final

from agents.delivery.sending import RETRY_AFTER
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.query import fetch_all
from tools.actions.cancel_remote_task import cancel_remote_task
from tools.mcp.errors import McpConnectionError
from tools.models import RemoteAgentTask

logger = logging.getLogger(__name__)

_BATCH: Final = 32

# A call ends by its run's cancel, by a limit, or because no one answered. Each attempt is counted
# at the claim, which also keeps other processes away.
_CLAIM: Final = """
UPDATE tools_remoteagenttask t
SET attempts = t.attempts + 1, next_at = clock_timestamp() + interval '1 minute' * (t.attempts + 1)
WHERE t.id IN (
    SELECT d.id FROM tools_remoteagenttask d
    LEFT JOIN agents_run r ON r.id = d.run_id
    LEFT JOIN agents_toolcall c ON c.run_id = d.run_id AND c.call_id = d.call_id
    WHERE d.next_at <= clock_timestamp()
          AND (r.id IS NULL OR r.finished_at IS NOT NULL OR c.finished_at IS NOT NULL)
    ORDER BY d.next_at LIMIT %s FOR UPDATE OF d SKIP LOCKED)
RETURNING t.id
"""


def cancel_remote_tasks() -> int:
    """Cancel what is due; return the number of tasks that need no further attempt.

    Safe to run concurrently. A task that its agent does not cancel, because it has ended or for
    another reason, is left alone; an agent that does not answer is asked again later.
    """
    ids = [row[0] for row in fetch_all(_CLAIM, [_BATCH])]
    done = 0
    if not ids:
        return done
    for task in RemoteAgentTask.objects.filter(pk__in=ids).select_related("server__workspace"):
        try:
            cancel_remote_task(task)
        except McpConnectionError as error:
            if task.attempts <= len(RETRY_AFTER):
                continue
            logger.warning("A remote task of run %s stays uncancelled: %s", task.run_id, error)
        except HeartbitError as error:
            logger.info("A remote task of run %s was not cancelled: %s", task.run_id, error)
        done += task.delete()[0]
    return done
