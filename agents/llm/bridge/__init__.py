"""Models of providers that have no adapter here, over pydantic-ai (the extra ``providers``)."""

from __future__ import annotations
