"""The page of a workflow: a row a step, a pattern or text, and the drawing beside it."""

from __future__ import annotations

from agents.admin.workflow import page  # noqa: F401  registers its class
