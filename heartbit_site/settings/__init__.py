"""Django's settings. Every difference between installations comes from the environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from csp import constants as csp

from heartbit_site import environment
from heartbit_site.base import installation, variables
from heartbit_site.keys import encryption_keys, secret_key
from heartbit_site.settings import sign_in
from heartbit_site.settings.sign_in import (
    HEARTBIT_OIDC_GROUPS_CLAIM as HEARTBIT_OIDC_GROUPS_CLAIM,
)
from heartbit_site.settings.sign_in import HEARTBIT_OIDC_ISSUER as HEARTBIT_OIDC_ISSUER
from heartbit_site.settings.sign_in import HEARTBIT_OIDC_LINK_EMAIL as HEARTBIT_OIDC_LINK_EMAIL
from heartbit_site.settings.sign_in import HEARTBIT_OIDC_ONLY as HEARTBIT_OIDC_ONLY
from heartbit_site.settings.sign_in import HEARTBIT_OIDC_ROLES as HEARTBIT_OIDC_ROLES
from heartbit_site.settings.sign_in import SOCIALACCOUNT_ADAPTER as SOCIALACCOUNT_ADAPTER
from heartbit_site.settings.sign_in import SOCIALACCOUNT_PROVIDERS as SOCIALACCOUNT_PROVIDERS
from heartbit_site.settings.theme import UNFOLD as UNFOLD  # a setting, used by its name

BASE_DIR = installation.PACKAGE.parent
ENVIRONMENT = environment.read()
#: The page and scripts of the API's documentation. As an app, ninja would be imported by every
#: command, and Django's test client with it.
API_PAGES = installation.directory_of("ninja")

SECRET_KEY = secret_key(ENVIRONMENT.state)
DEBUG = variables.DEBUG.read()
ALLOWED_HOSTS = list(variables.ALLOWED_HOSTS.read())

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # the site is ours
    "unfold.contrib.filters",
    # Without autodiscovery: workers do not need the pages (``heartbit_site.urls`` does it).
    "heartbit_site.admin.app.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_celery_beat",
    "channels",
    "csp",
    "axes",
    "heartbit_site.base",
    "memory",
    "tools",
    "agents",
    "scheduling",
]
INSTALLED_APPS += [*sign_in.APPS, *variables.EXTRA_APPS.read()]
#: Apps of a command that only reads their tables (``heartbit_site.extra_apps``): it imports no
#: admin and no Celery.
HEARTBIT_READING_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "heartbit_site.base",
    "memory",
    "tools",
    "agents",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "heartbit_site.shell.storage.ServeBuiltFiles",
    "heartbit_site.shell.compression.CompressedPages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "heartbit_site.csp.AdminPolicy",
    "heartbit_site.shell.zone.ReadersZone",
    "heartbit_site.shell.live.LiveRegions",
    *sign_in.MIDDLEWARE,
    "axes.middleware.AxesMiddleware",  # last: it answers requests of a locked-out user
]
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # first: it refuses a locked-out user
    sign_in.PASSWORDS,
    *sign_in.BACKENDS,
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
ROOT_URLCONF = "heartbit_site.urls"
ASGI_APPLICATION = "heartbit_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [installation.TEMPLATES, API_PAGES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "heartbit_site.shell.live.messages",
                "heartbit_site.shell.frame.frame",
            ],
            "libraries": {"shell": "heartbit_site.shell.tags"},
        },
    }
]

DATABASES = {"default": environment.django_database(ENVIRONMENT.database_url)}
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # costs nothing: heartbit_site.base.postgres
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
#: Only for `collectstatic`; without it servestatic serves the files from their own directories.
STATIC_ROOT = (BASE_DIR if installation.CHECKOUT else ENVIRONMENT.state.path) / "staticfiles"
STATICFILES_DIRS = [installation.STATIC, API_PAGES / "static"]
SERVESTATIC_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "heartbit_site.shell.storage.BuiltFiles"},
}

# --- Browsers and the web process's clients -------------------------------------------------------

HEARTBIT_TRUSTED_PROXIES = list(variables.TRUSTED_PROXIES.read())
HEARTBIT_REQUEST_SECONDS = variables.REQUEST_SECONDS.read()
HEARTBIT_AGUI_ORIGINS = variables.AGUI_ORIGINS.read()
HEARTBIT_MCP_ISSUER = variables.MCP_ISSUER.read()
HEARTBIT_MCP_PERSON_CLAIM = variables.MCP_PERSON_CLAIM.read()
CSRF_TRUSTED_ORIGINS = list(variables.TRUSTED_ORIGINS.read())
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = variables.HTTPS.read()
#: With trusted proxies the server takes the scheme from their header, and from no one else's.
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https")
    if SESSION_COOKIE_SECURE and not HEARTBIT_TRUSTED_PROXIES
    else None
)
SESSION_COOKIE_HTTPONLY = True
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
#: For Heartbit's own pages. The admin's theme needs more (``heartbit_site.csp``).
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [csp.NONE],
        "script-src": [csp.SELF],
        "style-src": [csp.SELF],
        "font-src": [csp.SELF],
        "img-src": [csp.SELF, "data:"],
        "connect-src": [csp.SELF],
        "form-action": [csp.SELF],
        "frame-ancestors": [csp.NONE],
        "base-uri": [csp.NONE],
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
#: Seconds for which the link of a mail about a forgotten password is valid.
PASSWORD_RESET_TIMEOUT = 3600

# --- Mail -----------------------------------------------------------------------------------------

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
HEARTBIT_ALERT_MAIL = variables.ALERT_MAIL.read()
HEARTBIT_ALERT_WORKSPACE = variables.ALERT_WORKSPACE.read()
HEARTBIT_PUBLIC_URL = (
    variables.PUBLIC_URL.read() or ENVIRONMENT.state.page_url() or "http://localhost:8000"
)
HEARTBIT_APPROVAL_LINK_HOURS = variables.APPROVAL_LINK_HOURS.read()

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "heartbit_site.base.log_output.make_formatter",
            "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "filters": {"refused_hosts": {"()": "heartbit_site.base.refused_hosts.RefusedHosts"}},
    "handlers": {
        "stderr": {
            "class": "heartbit_site.base.log_output.OutageHandler",
            "formatter": "line",
        }
    },
    "loggers": {
        # httpx logs whole URLs, and a query may hold a secret.
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # The SDK logs what a server sends, with tracebacks; a failed call says why by itself.
        "mcp": {"level": "CRITICAL"},
        # While Valkey is down this logs a traceback each second; Heartbit's loggers log it once.
        "channels_redis": {"level": "CRITICAL"},
        # Django's own handler shows a failed request only while DEBUG is on.
        "django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        # A client's bad request is answered; a traceback each would let anyone fill the log.
        "django.security": {"level": "CRITICAL"},
        "django.security.DisallowedHost": {
            "handlers": ["stderr"],
            "filters": ["refused_hosts"],
            "level": "ERROR",
            "propagate": False,
        },
    },
}

# --- Heartbit -----------------------------------------------------------------------------------

REDIS_URL = ENVIRONMENT.redis_url
#: Carries hints to the pages' sockets, which find every change without them too (``agents.live``).
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "heartbit:pages"},
    }
}
DATABASE_URL = ENVIRONMENT.database_url
DATABASE_DIRECT_URL = ENVIRONMENT.database_direct_url
# `heartbit_site.base.variables` explains them.
HEARTBIT_LEASE_SECONDS = variables.LEASE_SECONDS.read()
HEARTBIT_LOOP_SILENCE_SECONDS = variables.LOOP_SILENCE_SECONDS.read()
HEARTBIT_SWEEP_SECONDS = variables.SWEEP_SECONDS.read()
HEARTBIT_MAX_CRASHES = variables.MAX_ATTEMPTS.read()
HEARTBIT_BREAKER_FAILURES = variables.BREAKER_FAILURES.read()
HEARTBIT_DRAIN_SECONDS = variables.DRAIN_SECONDS.read()
HEARTBIT_ARCHIVE_DIR = variables.ARCHIVE_DIR.read() or str(ENVIRONMENT.state.path / "archive")
HEARTBIT_DRIVE_DIR = variables.DRIVE.read() or str(ENVIRONMENT.state.path / "drive")
HEARTBIT_HTTP_ALLOWLIST = variables.HTTP_ALLOW.read()
HEARTBIT_MCP_COMMANDS = variables.MCP_COMMANDS.read()
HEARTBIT_SANDBOX = variables.SANDBOX.read()
HEARTBIT_SANDBOX_URL = variables.SANDBOX_URL.read()
HEARTBIT_SANDBOX_KEY = variables.SANDBOX_KEY.read()
HEARTBIT_SANDBOX_IMAGE = variables.SANDBOX_IMAGE.read()
HEARTBIT_SANDBOX_HOSTS = variables.SANDBOX_HOSTS.read()
HEARTBIT_API_RATE_LIMIT = variables.API_RATE.read()
HEARTBIT_MAX_MESSAGE_HOPS = variables.MESSAGE_HOPS.read()
HEARTBIT_MESSAGES_PER_MINUTE = variables.MESSAGES_PER_MINUTE.read()
#: A callable that returns the local model's URL, for the agents app, which cannot import the shell.
HEARTBIT_LOCAL_MODEL_URL = "heartbit_site.local_model.url"
#: The Celery application, for the apps, which send messages and cannot import the shell either.
HEARTBIT_CELERY_APP = "heartbit_site.celery.app"
# The web server limits each path's bodies before Django sees them (``heartbit_site.web_server``);
# no body is larger than this, so none is written to a file.
FILE_UPLOAD_MAX_MEMORY_SIZE = DATA_UPLOAD_MAX_MEMORY_SIZE = 14_000_000

#: The embedding model of a provider account, for the memory app, which is below accounts.
HEARTBIT_ACCOUNT_EMBEDDER = "agents.runtime.providers.account_embedder.AccountEmbedder"
#: A callable that returns the weights by which a run recalls, likewise.
HEARTBIT_MEMORY_WEIGHTS = "agents.reads.agents.weights_of_run"
#: Dotted path of the class of another memory provider; empty: Heartbit's own memory.
HEARTBIT_MEMORY_PROVIDER = variables.MEMORY_PROVIDER.read()
#: Dotted path of the class that reads a knowledge base's folder; the memory app may not import it.
HEARTBIT_FOLDER_SOURCE = "tools.connectors.drive.folder.DriveSource"
#: Dotted paths of functions that delete a person's runs, the texts of memory tools in the journals
#: of these runs, and the runs that extracted memories.
HEARTBIT_ERASE_RUNS = "agents.housekeeping.erase_person.erase_runs_everywhere"
HEARTBIT_ERASE_MEMORY_TEXTS = "agents.housekeeping.erase_memory_texts.erase_memory_texts"
HEARTBIT_ERASE_EXTRACTIONS = "agents.actions.erase_runs.erase_extractions"
#: Dotted path of the function that writes what an erasure would delete into an archive.
HEARTBIT_EXPORT_PERSON = "agents.housekeeping.export_person.export_person"
#: Dotted paths of functions that find the schedules which runs planned, find the runs of these
#: schedules, and delete the schedules.
HEARTBIT_PLANS = "scheduling.actions.schedules.planned_in"
HEARTBIT_PLANNED_RUNS = "scheduling.actions.schedules.find_planned_runs"
HEARTBIT_ERASE_PLANS = "scheduling.actions.schedules.erase_plans"
#: A callable that returns the keys of stored secrets, newest first; the same on all machines.
HEARTBIT_ENCRYPTION_KEYS = encryption_keys(ENVIRONMENT.state)
