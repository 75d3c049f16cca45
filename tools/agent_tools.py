"""Built-in tools and connectors, imported here for discovery."""

from __future__ import annotations

from tools.builtin.arithmetic import calculate
from tools.builtin.clock import current_time
from tools.builtin.code import run_code, run_code_online
from tools.builtin.people import ask_human
from tools.builtin.web import http_get, http_request
from tools.connectors.calendars.tools import (
    create_event,
    delete_event,
    find_free_time,
    list_events,
    update_event,
)
from tools.connectors.drive.tools import fetch_file, list_files, read_file, search_files, write_file
from tools.connectors.mailbox import fetch_attachment, read_email, search_email
from tools.connectors.send_email import send_email
from tools.connectors.web_fetch import web_fetch
from tools.connectors.web_search import web_search
from tools.connectors.webhook import webhook
