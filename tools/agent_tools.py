"""Built-in tools, imported here for discovery."""

from __future__ import annotations

from tools.builtin.arithmetic import calculate
from tools.builtin.clock import current_time
from tools.builtin.people import ask_human
from tools.builtin.web import http_get, http_request
