"""Routes of the web process."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import include, path

from heartbit_site.api import mount
from heartbit_site.documents.pages import documents
from heartbit_site.doors.a2a import urls as a2a
from heartbit_site.doors.agui import door as agui
from heartbit_site.doors.openai import urls as openai
from heartbit_site.web import connect, errors, login, password
from heartbit_site.web.approve_link import approve_link
from heartbit_site.web.metrics import metrics
from tools.actions.sign_in import CALLBACK, DOCUMENT

admin.autodiscover()
import_module("heartbit_site.admin.pages")  # they replace some of those that were just found

handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error

sign_in = []
if settings.HEARTBIT_OIDC_ISSUER:  # the extra `oidc` is installed
    oidc: Any = import_module("heartbit_site.web.oidc.views")
    # allauth's own pages could name further issuers, and show tokens.
    admin.site.unregister(
        [model for model in admin.site._registry if model.__module__.startswith("allauth.")]
    )
    sign_in = [
        path("login/oidc/", oidc.start, name="oidc-start"),
        path("login/oidc/callback/", oidc.come_back, name="oidc-callback"),
    ]

urlpatterns = [
    path("", login.home, name="home"),
    path("login/", login.Login.as_view(), name="login"),
    *sign_in,
    path("logout/", LogoutView.as_view(next_page="login"), name="logout"),
    path("password/", password.forgotten, name="password-forgotten"),
    path("password/<uidb64>/<token>/", password.NewPassword.as_view(), name="password-new"),
    path("metrics", metrics),
    path("docs/", documents, {"name": ""}, name="documents"),
    path("docs/<path:name>", documents),
    path("approve/<str:token>/", approve_link, name="approve-link"),
    path(CALLBACK.removeprefix("/"), connect.come_back, name="oauth-callback"),
    path(DOCUMENT.removeprefix("/"), connect.client_document, name="oauth-client"),
    path("w/<slug:workspace>/", include("heartbit_site.web.urls")),
    path("admin/", admin.site.urls),
    *mount.urlpatterns,
    *openai.urlpatterns,
    *agui.urlpatterns,
    *a2a.urlpatterns,
]
