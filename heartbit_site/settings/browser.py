"""Content security policy of the pages, and lockout after failed logins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from csp.constants import NONE, SELF

#: For Heartbit's own pages. The admin's theme needs more (``heartbit_site.csp``).
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "font-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

#: Failed logins with one name from one address until a lockout.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
#: The connection's address, never one from a header, whatever axes would read.
AXES_CLIENT_IP_CALLABLE = "heartbit_site.web.login.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "heartbit_site.web.login.locked_out"
AXES_VERBOSE = False
