"""Models of providers without an adapter here, over pydantic-ai (the extra ``providers``)."""

from __future__ import annotations
