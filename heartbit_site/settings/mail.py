"""How mail leaves, and the links that Heartbit sends. All from the environment."""

from __future__ import annotations

import os

EMAIL_BACKEND = os.environ.get("EMAIL_BACKEND", "django.core.mail.backends.smtp.EmailBackend")
EMAIL_HOST = os.environ.get("EMAIL_HOST", "localhost")
EMAIL_PORT = int(os.environ.get("EMAIL_PORT", "25"))
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_TLS = os.environ.get("EMAIL_USE_TLS", "") == "1"
EMAIL_USE_SSL = os.environ.get("EMAIL_USE_SSL", "") == "1"
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = os.environ.get("DEFAULT_FROM_EMAIL", "heartbit@localhost")

#: Whether members who may decide are written to when a tool call begins to wait.
HEARTBIT_APPROVAL_MAIL = os.environ.get("HEARTBIT_APPROVAL_MAIL", "") == "1"
#: Where people reach the web pages: the links in mails begin with it.
HEARTBIT_PUBLIC_URL = os.environ.get("HEARTBIT_PUBLIC_URL", "http://localhost:8000").rstrip("/")
#: How long a link in a mail opens its call.
HEARTBIT_APPROVAL_LINK_HOURS = float(os.environ.get("HEARTBIT_APPROVAL_LINK_HOURS", "72"))
