"""Environment variables: name, default, parser with bounds, and help text of each, in one list.

Usage::

    variables.LEASE_SECONDS.read()      # 10.0, or the value of HEARTBIT_LEASE_SECONDS
    variables.problems()                # a sentence for each variable that cannot be used

Every reader uses this list, and every process checks the whole of it before it starts
(`heartbit_site.environment.read`), so that a mistake is one sentence and never a late traceback.
To add a variable, add one entry here; `make reference` writes docs/reference/settings.md from it.
A variable that is empty, or holds only white space, counts as unset. A secret may be in a file that
``NAME_FILE`` names, as container engines mount them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from heartbit_site.base import variable_formats as formats
from heartbit_site.base.environment_variable import Variable, switch, text
from heartbit_site.base.errors import ConfigurationError

DAY: Final = 86_400.0
_NOTHING: Final[tuple[str, ...]] = ()
_NO_ROLES: Final[Mapping[str, Mapping[str, str]]] = {}
_THIS_MACHINE: Final[tuple[str, ...]] = ("localhost", "127.0.0.1", "[::1]")

DATABASE_URL: Final = text(
    "DATABASE_URL",
    formats.database_address,
    help="PostgreSQL (tested with 18), `postgresql://...`",
    unset="an embedded server",
    secret=True,
)
DATABASE_DIRECT_URL: Final = text(
    "DATABASE_DIRECT_URL",
    formats.database_address,
    help="direct address of the database, without a transaction pooler",
    unset="`DATABASE_URL`",
    secret=True,
)
REDIS_URL: Final = text(
    "REDIS_URL",
    formats.valkey_address,
    help="Valkey or Redis, `redis://...`, or `rediss://...` for TLS",
    unset="an embedded server",
    secret=True,
)
STATE: Final = text(
    "HEARTBIT_STATE_DIR",
    formats.directory,
    help="directory of keys, logs and embedded servers",
    unset="`/var/lib/heartbit` for root, else `heartbit` in `XDG_STATE_HOME` (`~/.local/state`)",
)
LINGER: Final = Variable(
    "HEARTBIT_EMBEDDED_IDLE_SECONDS",
    300.0,
    formats.number(0, 30 * DAY),
    help="seconds until embedded servers stop after their last use",
)
SECRET_KEY: Final = text(
    "HEARTBIT_SECRET_KEY",
    help="signs sessions; the same on all web processes",
    unset="made once, in the state directory",
    secret=True,
    exact=True,
)
ENCRYPTION_KEYS: Final = Variable(
    "HEARTBIT_ENCRYPTION_KEYS",
    _NOTHING,
    formats.encryption_keys,
    help="encrypt stored secrets: 32 bytes in base64, newest first, separated by commas; the same "
    "on all machines ([rotation](docs/howto/provider-accounts.md))",
    unset="made once, in the state directory",
    secret=True,
)
ALLOWED_HOSTS: Final = Variable(
    "HEARTBIT_ALLOWED_HOSTS",
    _THIS_MACHINE,
    formats.hosts,
    help="names under which the web page may be reached",
)
HTTPS: Final = switch(
    "HEARTBIT_HTTPS",
    help="`1` behind a proxy that ends TLS and sets `X-Forwarded-Proto` (trusted from any client "
    "unless `HEARTBIT_TRUSTED_PROXIES` is set): cookies are sent only over HTTPS",
)
TRUSTED_ORIGINS: Final = Variable(
    "HEARTBIT_TRUSTED_ORIGINS",
    _NOTHING,
    formats.origins,
    help="other origins whose forms and sockets are accepted, scheme, host and port: "
    "`https://heartbit.example:8443`",
)
AGUI_ORIGINS: Final = Variable(
    "HEARTBIT_AGUI_ORIGINS",
    _NOTHING,
    formats.origins,
    help="origins of pages whose scripts may send requests to agents, "
    "`https://app.example` ([AG-UI](docs/howto/ag-ui.md))",
)
MCP_ISSUER: Final = text(
    "HEARTBIT_MCP_ISSUER",
    formats.web_address,
    help="OpenID Connect issuer whose access tokens are accepted at `/mcp` "
    "([MCP](docs/howto/mcp-server.md#tokens-of-an-issuer))",
)
MCP_PERSON_CLAIM: Final = Variable(
    "HEARTBIT_MCP_PERSON_CLAIM",
    "preferred_username",
    str,
    help="claim of those tokens that is the person's username here, one that people cannot change; "
    "unused if people sign in at the same issuer",
)
OIDC_ISSUER: Final = text(
    "HEARTBIT_OIDC_ISSUER",
    formats.web_address,
    help="OpenID Connect issuer that people sign in at ([sign-in](docs/howto/sign-in.md)); needs "
    "the extra `oidc`",
)
OIDC_CLIENT_ID: Final = text(
    "HEARTBIT_OIDC_CLIENT_ID", help="Heartbit's client id at that issuer; required with it"
)
OIDC_CLIENT_SECRET: Final = text(
    "HEARTBIT_OIDC_CLIENT_SECRET", help="the client's secret there", secret=True
)
OIDC_SCOPES: Final = Variable(
    "HEARTBIT_OIDC_SCOPES",
    "openid profile email",
    str,
    help="scopes requested from the issuer",
)
OIDC_GROUPS_CLAIM: Final = Variable(
    "HEARTBIT_OIDC_GROUPS_CLAIM", "groups", str, help="claim that lists a person's groups"
)
OIDC_ROLES: Final = Variable(
    "HEARTBIT_OIDC_ROLES",
    _NO_ROLES,
    formats.roles_of_groups,
    help='roles that groups give, as JSON: `{"engineers": {"default": "editor"}}`',
)
OIDC_LINK_EMAIL: Final = switch(
    "HEARTBIT_OIDC_LINK_EMAIL",
    help="`1` lets an e-mail address that the issuer has verified open the account that has it; "
    "never an administrator's",
)
OIDC_ONLY: Final = switch(
    "HEARTBIT_OIDC_ONLY",
    help="`1`: passwords only for superusers; all others sign in there",
)
TRUSTED_PROXIES: Final = Variable(
    "HEARTBIT_TRUSTED_PROXIES",
    _NOTHING,
    formats.proxies,
    help="addresses and networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are "
    "believed, `10.0.0.7,10.1.0.0/16` ([behind a proxy](docs/howto/operations.md#the-web-process))",
)
REQUEST_SECONDS: Final = Variable(
    "HEARTBIT_REQUEST_SECONDS",
    30.0,
    formats.number(0.1, 3600),
    help="seconds that a client has to send the header of a request, as many for its body, and as "
    "many between two reads of a response",
)
PUBLIC_URL: Final = text(
    "HEARTBIT_PUBLIC_URL",
    formats.web_address,
    help="address of the web pages, for links in mails and the way back from sign-ins",
    unset="where the last `heartbit up` of the state directory listens, else `http://localhost:8000`",
)
APPROVAL_MAIL: Final = switch(
    "HEARTBIT_APPROVAL_MAIL",
    help="`1` mails one-time links to the people who may decide a waiting call "
    "([approvals](docs/howto/approvals.md))",
)
APPROVAL_LINK_HOURS: Final = Variable(
    "HEARTBIT_APPROVAL_LINK_HOURS",
    72.0,
    formats.number(0.01, 8760),
    help="hours until a one-time link expires",
)
ALERT_MAIL: Final = Variable(
    "HEARTBIT_ALERT_MAIL",
    _NOTHING,
    formats.addresses,
    help="addresses for mails about raised and resolved [alerts](docs/howto/monitoring.md#alerts), "
    "e.g. `ops@example.org`",
)
ALERT_WORKSPACE: Final = text(
    "HEARTBIT_ALERT_WORKSPACE",
    help="workspace whose [events](docs/howto/events.md) and webhooks have `alert.raised` and "
    "`alert.resolved`",
    unset="none",
)
CONFIG: Final = text(
    "HEARTBIT_CONFIG",
    help="the configuration file of `heartbit config` and `run`, and the file whose `[server]` "
    "counts; `--config` for one command",
    unset="`heartbit.toml` here, if there",
)
PROVIDER: Final = text(
    "HEARTBIT_PROVIDER",
    help="provider of the default model; alone, its usual model",
    unset="by key, see above",
)
MODEL: Final = text(
    "HEARTBIT_MODEL",
    help="the default model, with or without its provider: `openai:gpt-6-sol`",
    unset="that of the provider",
)
WORKSPACE: Final = text(
    "HEARTBIT_WORKSPACE",
    help="the workspace that the commands work in, by its short name; `--workspace` for one "
    "command. At a server the key decides",
    unset="`default`",
)
URL: Final = text(
    "HEARTBIT_URL",
    formats.server_address,
    help="a server that the [commands with "
    "`--url`](docs/howto/rest-api.md#the-command-line-against-a-server) talk to",
    unset="this installation",
    secret=True,
)
API_KEY: Final = text(
    "HEARTBIT_API_KEY", formats.api_key, help="API key for that server", secret=True
)
HTTP_ALLOW: Final = text(
    "HEARTBIT_HTTP_ALLOWLIST",
    formats.allow_list,
    help="private hosts that tools may reach, `10.0.0.7:8080,wiki.internal`",
)
MCP_COMMANDS: Final[Variable[dict[str, tuple[str, ...]]]] = Variable(
    "HEARTBIT_MCP_COMMANDS",
    {},
    formats.programs,
    help="programs that may be MCP servers, `time = /opt/mcp-server-time; files = ...`, and what "
    "the sandbox permits them ([MCP servers](docs/howto/mcp.md#programs))",
    unset="none",
    secret=True,
)
SANDBOX: Final = Variable(
    "HEARTBIT_SANDBOX",
    "bubblewrap",
    formats.choice("bubblewrap", "docker", "remote", "off"),
    help="the sandbox that code of models runs in; off: no code is run "
    "([code](docs/howto/code.md))",
)
SANDBOX_URL: Final = text(
    "HEARTBIT_SANDBOX_URL",
    formats.web_address,
    help="address of the runner of the sandbox `remote` "
    "([on another machine](docs/howto/code.md#on-another-machine))",
    secret=True,
)
SANDBOX_KEY: Final = text(
    "HEARTBIT_SANDBOX_KEY",
    formats.bearer_key,
    help="key of that runner; the runner reads it too",
    secret=True,
)
SANDBOX_IMAGE: Final = text(
    "HEARTBIT_SANDBOX_IMAGE",
    help="image of the sandbox `docker` ([code](docs/howto/code.md#docker))",
)
SANDBOX_HOSTS: Final = Variable(
    "HEARTBIT_SANDBOX_HOSTS",
    _NOTHING,
    formats.host_names,
    help="hosts that programs of models may reach with `run_code_online`, "
    "`pypi.org,files.pythonhosted.org` ([code](docs/howto/code.md#with-a-network))",
    unset="none",
)
SANDBOX_PACKAGES: Final = text(
    "HEARTBIT_SANDBOX_PACKAGES",
    formats.directory,
    help="directory of Python packages that programs of models may import "
    "([code](docs/howto/code.md#packages))",
    unset="none",
)
API_RATE: Final = Variable(
    "HEARTBIT_API_RATE_LIMIT",
    50.0,
    formats.number(0, 1_000_000),
    help="requests a second that a key, a person or an unknown address may send to the API, four "
    "times as many at once; 0: any number ([REST API](docs/howto/rest-api.md))",
)
MESSAGE_HOPS: Final = Variable(
    "HEARTBIT_MAX_MESSAGE_HOPS",
    8,
    formats.whole(1, 1_000),
    help="longest chain of agents' messages and schedules, each caused by the one before "
    "([messages](docs/howto/messages.md))",
)
MESSAGES_PER_MINUTE: Final = Variable(
    "HEARTBIT_MESSAGES_PER_MINUTE",
    60,
    formats.whole(0, 1_000_000),
    help="messages that an agent may write in a minute, all its runs together; 0: any number",
)
EXTRA_APPS: Final = Variable(
    "HEARTBIT_EXTRA_APPS",
    _NOTHING,
    formats.modules,
    help="Django apps of your own whose `agent_tools` modules offer tools, and whose `tasks` "
    "modules Celery finds",
)
MEMORY_PROVIDER: Final = text(
    "HEARTBIT_MEMORY_PROVIDER",
    formats.dotted_class,
    help="class of another [memory provider](docs/howto/memory.md#other-providers), as a dotted "
    "path; its module is installed on all machines",
    unset="Heartbit's own memory",
)
LEASE_SECONDS: Final = Variable(
    "HEARTBIT_LEASE_SECONDS",
    10.0,
    formats.number(0.5, 3600),
    help="lease of a run: a worker that does not renew it for so long has lost the run; the same "
    "on all workers",
)
LOOP_SILENCE_SECONDS: Final = Variable(
    "HEARTBIT_LOOP_SILENCE_SECONDS",
    6.0,
    formats.number(0, 3600),
    help="silence of a worker's event loop after which the worker ends itself, and the run that "
    "held it up [counts as crashed](docs/howto/operations.md); 0 disables it, for a debugger",
)
SWEEP_SECONDS: Final = Variable(
    "HEARTBIT_SWEEP_SECONDS",
    1.0,
    formats.number(0.01, 3600),
    help="interval of each worker's sweep for expired leases and lost wake-ups",
)
BREAKER_FAILURES: Final = Variable(
    "HEARTBIT_BREAKER_FAILURES",
    5,
    formats.whole(0, 1_000_000),
    help="consecutive failed model calls that open a provider account's circuit breaker; 0 "
    "disables it",
)
MAX_ATTEMPTS: Final = Variable(
    "HEARTBIT_MAX_CRASHES",
    3,
    formats.whole(1, 1_000),
    help="worker crashes without progress until a run is quarantined",
)
DRAIN_SECONDS: Final = Variable(
    "HEARTBIT_DRAIN_SECONDS",
    25.0,
    formats.number(0, DAY),
    help="seconds that a stopping worker waits for effects in flight",
)
ARCHIVE_DIR: Final = text(
    "HEARTBIT_ARCHIVE_DIR",
    formats.directory,
    help="directory to archive runs in before they are deleted "
    "([retention](docs/howto/operations.md)); shared by all machines with workers or web",
    unset="`archive` in the state directory",
)
DRIVE: Final = text(
    "HEARTBIT_DRIVE",
    formats.directory,
    help="directory of the [files of agents](docs/howto/files-and-calendars.md), one folder per "
    "workspace; shared by all worker machines",
    unset="`drive` in the state directory",
)
LOCAL_MODEL_THREADS: Final = Variable(
    "HEARTBIT_LOCAL_MODEL_THREADS",
    0,
    formats.whole(1, 1_024),
    help="threads of the local model",
    unset="2, or 1 on fewer than four cores",
)
LOG: Final = text(
    "HEARTBIT_LOG",
    formats.choice("debug", "info", "warning", "error"),
    help="log level of all commands: `debug`, `info`, `warning`, `error`",
    unset="quiet; `info` in `serve`, `web` and `beat`",
)
LOG_FORMAT: Final = Variable(
    "HEARTBIT_LOG_FORMAT",
    "text",
    formats.choice("text", "json"),
    help="`json`: one JSON object a line, with run and trace "
    "([logs](docs/howto/monitoring.md#logs))",
)
OTEL_ENDPOINT: Final = text(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    formats.web_address,
    help="address of an OpenTelemetry collector, to which the extra `telemetry` exports "
    "[traces](docs/howto/monitoring.md#traces)",
    unset="no traces",
)
OTEL_TRACES_ENDPOINT: Final = text(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    formats.web_address,
    help="whole address of traces, `https://collector.example/v1/traces`",
    unset="`/v1/traces` of that address",
)
OTEL_PROTOCOL: Final = text(
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    formats.choice("grpc", "http/protobuf"),
    help="`grpc` or `http/protobuf`",
    unset="`grpc` if the address has port 4317",
)
OTEL_HEADERS: Final = text(
    "OTEL_EXPORTER_OTLP_HEADERS",
    help="headers of these requests, `authorization=Bearer%20...`",
    secret=True,
)
OTEL_DISABLED: Final = switch(
    "OTEL_SDK_DISABLED", help="`true`: no traces, regardless of other settings"
)
DEBUG: Final = switch(
    "HEARTBIT_DEBUG",
    help="`1` shows Django's error pages; never where others can see them",
)
EMAIL_BACKEND: Final = Variable(
    "EMAIL_BACKEND",
    "django.core.mail.backends.smtp.EmailBackend",
    formats.dotted_class,
    help="Django's mail backend, as a dotted path",
    unset="SMTP",
)
EMAIL_HOST: Final = Variable(
    "EMAIL_HOST",
    "localhost",
    formats.mail_host,
    help="the mail server ([approvals by mail](docs/howto/approvals.md))",
)
EMAIL_PORT: Final = Variable(
    "EMAIL_PORT", 25, formats.whole(1, 65_535), help="port of the mail server"
)
EMAIL_HOST_USER: Final = text("EMAIL_HOST_USER", help="user name at the mail server", exact=True)
EMAIL_HOST_PASSWORD: Final = text(
    "EMAIL_HOST_PASSWORD", help="password of that user", secret=True, exact=True
)
EMAIL_USE_TLS: Final = switch("EMAIL_USE_TLS", help="`1`: STARTTLS")
EMAIL_USE_SSL: Final = switch(
    "EMAIL_USE_SSL",
    help="`1`: TLS from the first byte; only one of the two",
)
DEFAULT_FROM_EMAIL: Final = Variable(
    "DEFAULT_FROM_EMAIL", "heartbit@localhost", formats.sender, help="the sender of mails"
)

VARIABLES: Final[tuple[Variable[object], ...]] = tuple(
    value for value in tuple(globals().values()) if isinstance(value, Variable)
)


def unknown(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of unknown variables with Heartbit's prefix, such as mistyped ones."""
    known = {each.name for each in VARIABLES}
    known |= {each.file_name for each in VARIABLES if each.secret}
    names = os.environ if environ is None else environ
    return sorted(name for name in names if name.startswith("HEARTBIT_") and name not in known)


def problems(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return a sentence for each variable that cannot be used."""
    environ = os.environ if environ is None else environ
    found = []
    for variable in VARIABLES:
        try:
            variable.read(environ)
        except ConfigurationError as error:
            found.append(str(error))
    if not found and EMAIL_USE_TLS.read(environ) and EMAIL_USE_SSL.read(environ):
        found.append("EMAIL_USE_TLS and EMAIL_USE_SSL are both on: unset one of them.")
    return found
