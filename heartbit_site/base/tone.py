"""Colours that a state or an event is shown in."""

from __future__ import annotations

from typing import Literal

Tone = Literal["", "info", "success", "warning", "danger", "primary"]
