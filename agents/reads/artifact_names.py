"""Names under which runs keep their whole answer as a file: targets of the kind ``artifact``.

Nothing is copied: the file is the run's answer, available from its end until the run is deleted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from agents.choices import DeliveryKind
from agents.models import Delivery

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from uuid import UUID


def kept_names(run_ids: Collection[UUID]) -> Mapping[UUID, list[str]]:
    """Return the artifact names of those runs that have any, in the order of the request."""
    orders = Delivery.objects.filter(run_id__in=run_ids, kind=DeliveryKind.ARTIFACT)
    found: defaultdict[UUID, list[str]] = defaultdict(list)
    for run_id, target in orders.order_by("run_id", "position").values_list("run_id", "target"):
        found[run_id].append(str(target["name"]))
    return dict(found)
