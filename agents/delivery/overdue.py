"""Checks for overdue deliveries, which show that Celery Beat is down.

Pending rows are few, and each query has a partial index of them.
"""

from __future__ import annotations

from heartbit_site.base.query import fetch_one

# Deliveries of runs that have not ended, or handed to a pending webhook message, are not overdue.
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
# Each poll stores its time, even if it finds nothing, and then sends the due messages.
_WEBHOOKS = """
SELECT EXISTS (
    SELECT 1 FROM agents_webhookendpoint e
    WHERE e.enabled
      AND greatest(e.last_polled_at, e.events_from)
          < statement_timestamp() - make_interval(secs => %s))
"""


def results_are_overdue(seconds: float) -> bool:
    """Return True if a result has been due for more than ``seconds``."""
    return bool(fetch_one(_RESULTS, [seconds])[0])


def webhooks_are_overdue(seconds: float) -> bool:
    """Return True if the last poll of a webhook's events is more than ``seconds`` ago."""
    return bool(fetch_one(_WEBHOOKS, [seconds])[0])
