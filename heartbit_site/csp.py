"""The content security policy of the admin, whose theme is third-party code."""

from __future__ import annotations

from typing import Any, cast

from csp.constants import UNSAFE_EVAL, UNSAFE_INLINE
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

_NEEDED = {"script-src": [UNSAFE_EVAL], "style-src": [UNSAFE_INLINE]}


class AdminPolicy(MiddlewareMixin):
    """A wider policy for the theme: Alpine evaluates expressions and sets styles.

    Inline scripts stay forbidden.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Widen the policy of the admin's pages."""
        if request.path.startswith("/admin/"):
            cast("Any", response)._csp_update = _NEEDED
        return response
