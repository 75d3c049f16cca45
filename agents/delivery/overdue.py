"""Whether anything waits to be sent although its time has come: nobody rings, as without Beat.

Rows that are waiting are few, and each question has an index of what waits alone.
"""

from __future__ import annotations

from django.db import connection

# A run that goes on has its deliveries waiting; one that was handed to a webhook waits for that.
_RESULTS = """
SELECT EXISTS (
    SELECT 1 FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
    WHERE d.status = 'pending' AND d.next_at < before.moment
      AND (r.id IS NULL OR r.finished_at < before.moment)
      AND NOT EXISTS (SELECT 1 FROM agents_webhookdelivery w
                      WHERE d.message_id <> '' AND w.message_id = d.message_id
                        AND w.status = 'pending'))
FROM (SELECT statement_timestamp() - make_interval(secs => %s) AS moment) before
"""
# Each look notes its time, whether it finds anything or not, and then sends what is due.
_WEBHOOKS = """
SELECT EXISTS (
    SELECT 1 FROM agents_webhookendpoint e
    WHERE e.enabled
      AND greatest(e.last_polled_at, e.events_from)
          < statement_timestamp() - make_interval(secs => %s))
"""


def results_are_overdue(seconds: float) -> bool:
    """Whether a run's result has waited for longer than that."""
    return _asked(_RESULTS, seconds)


def webhooks_are_overdue(seconds: float) -> bool:
    """Whether nobody has looked for what a webhook is owed for longer than that."""
    return _asked(_WEBHOOKS, seconds)


def _asked(question: str, seconds: float) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(question, [seconds])
        (answer,) = cursor.fetchone()
    return bool(answer)
