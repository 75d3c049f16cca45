"""What requests hold."""

from __future__ import annotations

from ninja import Schema
from pydantic import ConfigDict


class Body(Schema):
    """A JSON object: no field but its own, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)
