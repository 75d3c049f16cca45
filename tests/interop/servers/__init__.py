"""Other people's MCP servers, driven; ``python -m tests.interop.servers``."""

from __future__ import annotations

import os

import django

from tests.server_process import ROOT

# Before anything imports a model; no database is asked.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "heartbit_site.settings")
os.environ.setdefault("HEARTBIT_STATE_DIR", str(ROOT / "build" / "interop" / "state"))
django.setup()
