"""Outgoing mail and the links in it. All from the environment."""

from __future__ import annotations

from heartbit_site.base import variables

EMAIL_BACKEND = variables.EMAIL_BACKEND.read()
EMAIL_HOST = variables.EMAIL_HOST.read()
EMAIL_PORT = variables.EMAIL_PORT.read()
EMAIL_HOST_USER = variables.EMAIL_HOST_USER.read()
EMAIL_HOST_PASSWORD = variables.EMAIL_HOST_PASSWORD.read()
EMAIL_USE_TLS = variables.EMAIL_USE_TLS.read()
EMAIL_USE_SSL = variables.EMAIL_USE_SSL.read()
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = variables.DEFAULT_FROM_EMAIL.read()

HEARTBIT_APPROVAL_MAIL = variables.APPROVAL_MAIL.read()
HEARTBIT_PUBLIC_URL = variables.PUBLIC_URL.read()
HEARTBIT_APPROVAL_LINK_HOURS = variables.APPROVAL_LINK_HOURS.read()
