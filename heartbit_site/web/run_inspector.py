"""Parts beside the answer of a run: figures, artifacts, files, deliveries, shared values."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest

from agents.models import BlackboardEntry, Run
from agents.querysets import blackboard
from heartbit_site.base.access import Access
from heartbit_site.base.preview import preview
from heartbit_site.base.visible_text import visible
from heartbit_site.operations import artifacts, run_reads, webhooks
from heartbit_site.web.run_facts import facts_of

#: Rows that a list has at most; the API has the rest.
MOST = 200
#: Characters of a shared value that are shown.
LONGEST_VALUE = 20_000


def inspected(request: HttpRequest, access: Access, run: Run) -> dict[str, Any]:
    """Return the context of ``web/run/inspector.html``, and the run's view as ``view``."""
    view, run_id = run_reads.show_run(access, str(run.pk)), str(run.pk)
    produced = artifacts.list_artifacts(access, run_id, limit=MOST).artifacts
    files = artifacts.list_work_files(access, run_id, limit=MOST).files
    deliveries = webhooks.list_deliveries(access, run=run_id, limit=MOST).deliveries[::-1]
    pending = any(one.status == "pending" for one in deliveries)
    return {
        "run": run,
        "view": view,
        "workspace": access.workspace,
        "facts": facts_of(access, run, view),
        "artifacts": [(one, _size(one.size)) for one in produced],
        "files": [(one, one.path.rpartition("/")[2], _size(one.size)) for one in files],
        "deliveries": deliveries,
        "is_delivering": pending and view.finished_at is not None,
        "shared": [_entry(one) for one in blackboard(run.root_id).order_by("key")[:MOST]],
        "payload": None if view.payload is None else as_json(view.payload),
        "commands": _commands(request, access, run_id),
        "writes": access.allows("runs:write"),
    }


def as_json(value: object) -> str:
    """Return a value as indented JSON without hidden characters."""
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def _commands(request: HttpRequest, access: Access, run_id: str) -> list[tuple[str, str]]:
    at = request.build_absolute_uri(f"/api/v1/runs/{run_id}")
    key = '-H "Authorization: Bearer $HEARTBIT_API_KEY"'
    found = [
        ("Follow", f"heartbit status {run_id} --watch"),
        ("Answer", f"heartbit result {run_id}"),
        ("cURL: the run", f"curl {key} {at}"),
        ("cURL: its events", f'curl -N {key} "{at}/events?tree=true"'),
    ]
    cancel = ("Cancel", f"heartbit cancel {run_id}")
    return [*found[:2], cancel, *found[2:]] if access.allows("runs:write") else found


def _entry(row: BlackboardEntry) -> dict[str, Any]:
    text = visible(row.value if isinstance(row.value, str) else as_json(row.value))
    beginning, rest = preview(text), text[:LONGEST_VALUE]
    return {
        "row": row,
        "beginning": beginning,
        "whole": rest if beginning != text else "",
        "unseen": len(text) - len(rest),
    }


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    return f"{count / 1000:.1f} kB" if count < 999_950 else f"{count / 1e6:.1f} MB"
