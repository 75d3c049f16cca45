"""`[memory]`, `[[knowledge_bases]]`, `[[webhooks]]`, `[[channels]]` and `[[budgets]]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.channels import save_channel
from agents.models import Budget, Channel, WebhookEndpoint
from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import AuditEntry
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.config.workspace_parts import PartChanges
from memory.models import KnowledgeBase, MemoryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from heartbit_site.base.models import Workspace

FILE = """
[[agents]]
name = "helper"
description = "Helps."
system_prompt = "You help."
tools = [{ name = "search_knowledge", knowledge_bases = ["handbook"] }]

[memory]
kept_days = 30

[[knowledge_bases]]
name = "handbook"
description = "How we work."
drive_folder = "handbook"

[[webhooks]]
name = "tickets"
url = "https://tickets.example.org/hook"
events = ["run.*", "quota.reached"]

[[channels]]
name = "support"
kind = "email"
agent = "helper"
senders = ["@Example.org"]
mailbox = { host = "imap.example.org", user = "support" }
deliver = [{ kind = "email", to = ["team@example.org"] }]

[[channels]]
name = "forms"
kind = "webhook"
agent = "helper"
hourly_limit = 10
mapping = { task = "Answer {body}" }

[[budgets]]
agent = "helper"
period = "day"
max_tokens = 100000
max_usd = 2.5

[[budgets]]
period = "month"
max_usd = 100
ask_at = 90
"""


def test_all_sections_are_imported_exported_and_imported_again(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    changes = import_config(workspace, parse(FILE))
    assert changes.parts == {
        "knowledge_bases": PartChanges(created=("handbook",)),
        "webhooks": PartChanges(created=("tickets",)),
        "channels": PartChanges(created=("support", "forms")),
        "budgets": PartChanges(created=("agent helper a day", "all runs a month")),
    }
    assert changes.memory == ("kept_days",)
    assert [note.split()[:3] for note in changes.notes] == [
        ["The", "webhook", "tickets"],
        ["The", "channel", "support"],
        ["The", "channel", "forms"],
    ]
    assert MemoryPolicy.objects.get(workspace=workspace).kept_days == 30
    assert KnowledgeBase.objects.get(workspace=workspace).drive_folder == "handbook"
    support = Channel.objects.get(workspace=workspace, name="support")
    assert (support.senders, support.imap_host) == (["@example.org"], "")
    budgets = Budget.objects.filter(workspace=workspace)
    assert sorted(str(budget.max_usd.normalize()) for budget in budgets if budget.max_usd) == [
        "1E+2",
        "2.5",
    ]
    assert AuditEntry.objects.filter(workspace=workspace, action="budget.add").count() == 2

    text = export(workspace)
    copy = empty()
    import_config(copy, parse(text))
    assert export(copy) == text
    again = import_config(workspace, parse(text))
    assert not any(one.created or one.updated for one in again.parts.values())
    assert again.memory == ()
    assert "password" not in text
    assert "secret" not in text


def test_a_mailbox_waits_for_its_password_and_then_belongs_to_the_file(
    empty: Callable[[], Workspace],
) -> None:
    workspace = empty()
    import_config(workspace, parse(FILE))
    channel = Channel.objects.get(workspace=workspace, name="support")
    channel.imap_host, channel.imap_user = "imap.example.org", "support"
    save_channel(channel, password="geheim", by=SYSTEM)
    same = import_config(workspace, parse(FILE))
    assert same.parts["channels"].unchanged == ("support", "forms")
    assert same.notes == ()
    assert 'mailbox = { host = "imap.example.org", user = "support" }' in export(workspace)
    moved = import_config(workspace, parse(FILE.replace("imap.example", "imap.other")))
    assert "enter that mailbox with its password" in moved.notes[0]
    channel.refresh_from_db()
    assert channel.imap_host == "imap.example.org", "its password is sent nowhere else"
    without = FILE.replace('mailbox = { host = "imap.example.org", user = "support" }\n', "")
    assert import_config(workspace, parse(without), dry_run=True).losses == (
        "channel support: mailbox reset to its default",
    )


def test_changes_and_pruning_are_told(empty: Callable[[], Workspace]) -> None:
    workspace = empty()
    import_config(workspace, parse(FILE))
    changed = FILE.replace("hourly_limit = 10\n", "").replace("warn_at", "").replace("2.5", "3")
    changes = import_config(workspace, parse(changed))
    assert changes.parts["channels"].fields["forms"] == ("hourly_limit",)
    assert changes.parts["budgets"].fields == {"agent helper a day": ("max_usd",)}
    assert changes.losses == ("channel forms: hourly_limit reset to its default",)
    agent = FILE[: FILE.index("[memory]")]
    gone = import_config(workspace, parse(agent), prune=True)
    assert gone.parts["webhooks"] == PartChanges(disabled=("tickets",))
    assert set(gone.parts["channels"].disabled) == {"support", "forms"}
    assert not WebhookEndpoint.objects.get(workspace=workspace).enabled
    assert Budget.objects.filter(workspace=workspace).count() == 2
    unknown = parse('[[budgets]]\nperson = "nemo"\nperiod = "day"\nmax_tokens = 1\n')
    with pytest.raises(
        ConfigurationError, match=r"budgets, 'person nemo a day': .* no member nemo"
    ):
        import_config(workspace, unknown)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[[budgets]]\nperiod = "day"\n', "1:3: budgets[1] needs max_tokens, max_usd, or both."),
        (
            '[[budgets]]\nperiod = "day"\nmax_tokens = 5\nask_at = 20\n',
            "4:1: budgets[1].ask_at is below warn_at: ask later, or warn sooner.",
        ),
        (
            '[[budgets]]\nperiod = "week"\nmax_tokens = 5\n',
            '2:1: budgets[1].period must be "day" or "month"',
        ),
        (
            '[[webhooks]]\nname = "a"\nurl = "ftp://x"\n',
            '3:1: webhooks.a.url is "ftp://x", not an http or https URL;',
        ),
        (
            '[[webhooks]]\nname = "a"\nurl = "https://x.test"\nevents = ["run.gone"]\n',
            "4:11: webhooks.a.events[1] 'run.gone' selects no event",
        ),
        (
            '[[channels]]\nname = "a"\nkind = "email"\nagent = "b"\n',
            "1:3: channels.a.senders is missing",
        ),
        (
            '[[channels]]\nname = "a"\nkind = "webhook"\nagent = "b"\nsenders = ["*"]\n',
            '5:1: channels.a.senders is only accepted with kind = "email".',
        ),
        (
            '[[channels]]\nname = "a"\nkind = "email"\nagent = "b"\nsenders = ["*"]\n'
            'mailbox = { host = "h", user = "u", password = "geheim" }\n',
            "6:37: channels.a.mailbox.password is not a setting; keys never belong here",
        ),
        ('[[knowledge_bases]]\nname = "A b"\n', "2:1: knowledge_bases[1].name must be of the form"),
        ("[memory]\nkept_days = 8\n", "2:1: memory.kept_days must be 7, 30 or 90"),
        (
            '[[knowledge_bases]]\nname = "a"\n[[knowledge_bases]]\nname = "a"\n',
            "4:1: knowledge_bases[2].name repeats entry 1: keep one of them.",
        ),
    ],
)
def test_a_fault_is_told_at_its_place(text: str, line: str) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(text)
    found = refused.value.lines[0]
    assert line in found
    assert "geheim" not in found
