"""`heartbit provider-accounts`: a workspace's own keys for language models."""

from __future__ import annotations

from typing import Final

from heartbit_site.cli.options import common
from heartbit_site.cli.options.verbs import Verbs
from heartbit_site.cli.terminal.table import Table
from heartbit_site.contract import provider_accounts as contract


def _state(one: contract.ProviderAccountOut) -> str:
    if not one.enabled:
        return "disabled"
    if one.healthy is None:
        return "not checked"
    return "healthy" if one.healthy else "unhealthy"


TABLE: Final = Table.of(
    contract.ProviderAccountOut,
    "ACCOUNT=id NAME=name:40 PROVIDER KEY STATE TROUBLE=health_message:200",
    styles={"healthy": "green", "unhealthy": "red", "disabled": "yellow"},
    none="No accounts: the environment's keys are used; `heartbit provider-accounts add` adds one.",
    KEY=lambda one: f"...{one.key_hint}" if one.key_hint else "-",
    STATE=_state,
)

app = common.group()
ACCOUNTS: Final = Verbs(
    app, "provider account", contract.LIST_PROVIDER_ACCOUNTS, TABLE, place="account_id"
)

ACCOUNTS.list("List the workspace's accounts with providers, without their keys.")
ACCOUNTS.do(
    "add",
    contract.CREATE_PROVIDER_ACCOUNT,
    "Add an account; its key is asked for, or read from standard input.",
    first=("provider",),
    entered="key",
)
ACCOUNTS.do(
    "change",
    contract.CHANGE_PROVIDER_ACCOUNT,
    "Change the given settings of an account; a new base URL needs the key again.",
    entered="key",
)
ACCOUNTS.do("check", contract.CHECK_PROVIDER_ACCOUNT, "Ask the provider whether it takes the key.")
ACCOUNTS.remove(
    contract.REMOVE_PROVIDER_ACCOUNT,
    "Remove an account and its key.",
    goes="its key",
    stays="model calls use the environment's key, if there is one",
)
