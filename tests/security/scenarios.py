"""Which tests are which scenario: a file of tests, or a part of one."""

from __future__ import annotations

from tests.security.amounts import AMOUNTS
from tests.security.linear import LINEAR
from tests.security.scenario import Scenario

SCENARIOS = {
    "S1": Scenario(
        "no request that a model, a tool or a server of others steers reaches inside",
        (
            *("tests/base/test_http_guard.py", "tests/mcp/test_guard.py"),
            *("tests/tools/connectors/test_ssrf.py", "tests/tools/connectors/test_addresses.py"),
        ),
    ),
    "S2": Scenario(
        "code of models reaches nothing, takes no more than its part, and never runs without walls",
        (
            "tests/tools/sandbox/test_battery.py::TestBubblewrap",
            *("tests/tools/sandbox/test_bubblewrap.py", "tests/runtime/test_code.py"),
        ),
    ),
    "S2-remote": Scenario(
        "the same through a runner, which answers nobody without its key",
        (
            "tests/tools/sandbox/test_battery.py::TestRemote",
            "tests/tools/sandbox/test_remote.py",
        ),
    ),
    "S3": Scenario(
        "the program of an MCP server reaches what its line names, and nothing else",
        ("tests/mcp/test_walls.py", "tests/mcp/test_connection.py"),
    ),
    "S4": Scenario(
        "what was approved is what runs",
        ("tests/web/test_approval_integrity.py", "tests/tools/test_approval.py"),
    ),
    "S5": Scenario(
        "after private data and outsiders' text, nothing leaves unless a person has seen it",
        ("tests/runtime/test_mixed_data.py", "tests/runtime/test_mixed_connectors.py"),
    ),
    "S6": Scenario(
        "what a model writes cannot act in a browser", ("tests/security/test_output_handling.py",)
    ),
    "S7": Scenario(
        "everybody reaches what is theirs and nothing else",
        (
            "tests/web/test_matrix.py",
            "tests/web/test_matrix_admin.py",
            "tests/web/test_admin_scope.py",
        ),
    ),
    "S8": Scenario(
        "other sites, stale sessions and guessers are kept out",
        (
            *("tests/web/test_web_security.py", "tests/web/test_sockets.py"),
            *("tests/web/test_socket_keys.py", "tests/api/test_auth.py"),
        ),
    ),
    "S9": Scenario(
        "webhooks are signed, out and in, and each is told and taken once",
        (
            *("tests/web/test_webhooks.py", "tests/inbound/test_webhooks_in.py"),
            "tests/inbound/test_forgeries.py",
        ),
    ),
    "S10": Scenario(
        "secrets are readable in their own row only",
        ("tests/base/test_secrets.py", "tests/web/test_canaries.py"),
    ),
    "S11": Scenario(
        "no file's name, size or type leads out of its place",
        (
            *("tests/tools/connectors/test_drive.py", "tests/runtime/test_folder.py"),
            *(
                "tests/tools/connectors/test_mailbox.py",
                "tests/tools/connectors/test_send_email.py",
            ),
            *("tests/tools/sandbox/test_bubblewrap.py", "tests/skills/test_archive.py"),
        ),
    ),
    "S12": Scenario(
        "mails, pages and calendars by strangers cost bounded time and memory",
        (
            *("tests/tools/connectors/test_mailbox.py", "tests/tools/connectors/test_calendars.py"),
            *("tests/tools/connectors/test_web_fetch.py", "tests/inbound/test_mime.py"),
        ),
    ),
    "S13": Scenario(
        "nobody takes more than their part, and a runaway agent stops",
        (
            *("tests/quotas/test_runs_started.py", "tests/quotas/test_spending.py"),
            *("tests/quotas/test_turns.py", "tests/messaging/test_guard.py"),
        ),
    ),
    "S14": Scenario("an edited audit does not verify", ("tests/web/test_audit.py",)),
    "S16": Scenario(
        "no server or stranger gets, keeps or uses a person's sign-in at an MCP server",
        ("tests/mcp/test_sign_in.py", "tests/web/test_connect.py", "tests/runtime/test_sign_in.py"),
    ),
    "S17": Scenario(
        "a request too large or too slow ends before anything reads it",
        ("tests/api/test_body_limits.py", "tests/api/test_connections.py"),
    ),
    "S18": Scenario(
        "a page of another scheme, host or port gets nothing for our cookies",
        ("tests/web/test_origins.py",),
    ),
    "S19": Scenario(
        "no client chooses the address it is counted by", ("tests/api/test_trusted_proxies.py",)
    ),
    "S20": Scenario(
        "times beyond the calendar fail nothing, and no text steers a terminal",
        (
            *("tests/api/test_far_times.py", "tests/admin/test_far_times.py"),
            *("tests/cli/test_far_times.py", "tests/cli/test_exports.py"),
        ),
    ),
    "S21": Scenario(
        "a key has what it was given, and a refusal is one line of the log",
        ("tests/accounts/test_usual_scopes.py", "tests/tools/test_pipeline.py"),
    ),
    "S22": Scenario(
        "what outsiders wrote becomes no memory, and erasing a person leaves none",
        (
            *("tests/runtime/test_memory_poisoning.py", "tests/runtime/test_extraction.py"),
            *("tests/runtime/test_known_memories.py", "tests/runtime/test_erasure.py"),
        ),
    ),
    **LINEAR,
    **AMOUNTS,
    "S23": Scenario(
        "whatever bytes a program leaves in place of its files, no other run waits a second for it",
        ("tests/tools/sandbox/test_forged.py",),
    ),
    "S24": Scenario(
        "three programs that leave 250,000 files each hold up neither a run nor a heartbeat",
        ("tests/runtime/test_code.py::test_a_run_feels_nothing_of_programs_that_leave_many_files",),
    ),
    "S25": Scenario(
        "a run that hangs its worker ends in quarantine, and its neighbours go on",
        ("tests/runtime/test_loop_watchdog.py",),
    ),
    "S26": Scenario(
        "an identity provider signs in those whom it knows, as who they are, and no one else",
        ("tests/security/test_oidc.py", "tests/security/test_oidc_accounts.py"),
    ),
    "S27": Scenario(
        "in a chat a linked member alone decides, by a signed request, about what was shown",
        ("tests/chat_apps/test_forgeries.py", "tests/chat_apps/test_accounts.py"),
    ),
    "S28": Scenario(
        "what is private is read by its owner through every interface, and by no other member",
        ("tests/web/test_private.py",),
    ),
    "S15": Scenario(
        "every answer of the API is a described one, whatever is asked",
        ("tests/web/test_schemathesis.py",),
    ),
    "R12": Scenario(
        "of ten who decide at once one wins, and all hear who",
        ("tests/web/test_approval_race.py",),
    ),
    "R13": Scenario(
        "nothing runs after a cancel, an expiry or a lost right",
        (
            *("tests/web/test_approval_too_late.py", "tests/runs/test_decisions.py"),
            "tests/runtime/test_lost_right.py",
        ),
    ),
    "R16": Scenario(
        "an MCP server that lies, floods, hangs, dies or changes costs a call and never a run",
        (
            *("tests/mcp/test_connection.py", "tests/mcp/test_pool.py", "tests/mcp/test_http.py"),
            *("tests/mcp/test_guard.py", "tests/runtime/test_mcp.py"),
        ),
    ),
    "R17": Scenario(
        "sockets that break lose nothing and get nothing twice",
        ("tests/web/test_socket_replay.py",),
    ),
}
