"""Colours of states and events."""

from __future__ import annotations

from typing import Literal

Tone = Literal["", "info", "success", "warning", "danger", "primary"]
