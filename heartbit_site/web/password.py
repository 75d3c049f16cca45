"""Pages for a forgotten password: ask for a link, and set a new password with it."""

from __future__ import annotations

import functools
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from heartbit_site.api.errors import TooManyRequestsError
from heartbit_site.api.rate_limit import RateLimiter, bucket_key
from heartbit_site.base.actions.reset_password import ask_for_reset
from heartbit_site.base.actions.users import set_password
from heartbit_site.base.audit import Actor
from heartbit_site.base.people import User

_PER_SECOND: Final = 1 / 30  # of one address
_WAIT: Final = "One request every half minute: wait, and ask again."


@functools.cache
def _limiter() -> RateLimiter:
    return RateLimiter(settings.REDIS_URL, _PER_SECOND)


@never_cache
@require_http_methods(["GET", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for the address, and say the same whether it has an account or not."""
    if request.method == "GET":
        return render(request, "web/password_forgotten.html", {"sent": "sent" in request.GET})
    try:
        _limiter().take(f"password:{bucket_key(request.META.get('REMOTE_ADDR', ''))}")
    except TooManyRequestsError:
        return render(request, "web/password_forgotten.html", {"problem": _WAIT}, status=429)
    ask_for_reset(request.POST.get("email", "")[:254])
    return redirect(f"{reverse('password-forgotten')}?sent")


class NewPassword(PasswordResetConfirmView):
    """The form for a new password, by a link from a mail."""

    template_name = "web/password_new.html"
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password as everywhere else: audited, and the person's sessions end."""
        user: User = form.user
        by = Actor(user.get_username(), "email", user.pk)
        set_password(user.get_username(), form.cleaned_data["new_password1"], by=by)
        self.request.session.flush()  # the link's token is in it
        return redirect(f"{self.get_success_url()}?changed")
