"""Names of delivery statuses, for the pages and the command line. No Django."""

from __future__ import annotations

from typing import Final

DELIVERIES: Final = {
    "pending": "being delivered",
    "delivered": "delivered",
    "failed": "not delivered",
}
