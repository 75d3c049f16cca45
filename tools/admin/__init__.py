"""The admin of tools."""

from __future__ import annotations

from tools.admin import credential as credential
