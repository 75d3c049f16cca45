"""`heartbit chat-apps`: where members are asked what waits for them, such as Slack."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import chat_apps as contract


def _state(one: contract.ChatAppOut) -> str:
    if not one.enabled:
        return "disabled"
    return "in trouble" if one.last_error else "active"


TABLE: Final = Table.of(
    contract.ChatAppOut,
    "APP=name:40 KIND STATE CHANNEL=channel|direct YOU TROUBLE=last_error:200",
    styles={"active": "green", "in trouble": "red", "disabled": "yellow"},
    none="No chat apps: `heartbit chat-apps add NAME` makes one.",
    STATE=_state,
    YOU=lambda one: "linked" if one.linked else "-",
)

app = common.group()
APPS: Final = Verbs(app, "chat app", contract.LIST_CHAT_APPS, TABLE, place="chat_app_id")

APPS.list("List the chat apps, the newest first, without their secrets.")
APPS.do(
    "add",
    contract.CREATE_CHAT_APP,
    "Add a chat app; its bot token is asked for, or read from standard input.",
    first=("name",),
    without=("signing_secret", "app_token"),
    entered="bot_token",
)
APPS.do(
    "change",
    contract.CHANGE_CHAT_APP,
    "Change the given settings of a chat app; the others stay.",
    without=("signing_secret", "app_token"),
    entered="bot_token",
)
APPS.do(
    "sign",
    contract.CHANGE_CHAT_APP,
    "Set the secret that signs a chat app's requests.",
    without=("name", "channel", "api_url", "enabled", "bot_token", "app_token"),
    entered="signing_secret",
)
APPS.do(
    "connect",
    contract.CHANGE_CHAT_APP,
    "Set the token with which Heartbit connects to a chat app (Socket Mode).",
    without=("name", "channel", "api_url", "enabled", "bot_token", "signing_secret"),
    entered="app_token",
)
APPS.do("check", contract.CHECK_CHAT_APP, "Ask the service whether it takes the bot token.")
APPS.do("link", contract.LINK_CHAT_ACCOUNT, "Make the code that links your account.", once="code")
APPS.remove(
    contract.UNLINK_CHAT_ACCOUNT,
    "Unlink your account in the chat: it no longer decides as you.",
    word="unlink",
)
APPS.remove(contract.REMOVE_CHAT_APP, "Remove a chat app.", goes="the links of its accounts")
