"""Provider accounts: the workspace's own keys for language models, with rate limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page, Word, changes
from heartbit_site.contract.operation import MANAGE, READ_RUNS, Noun

PerMinute = Annotated[int, Field(ge=1, le=2**31 - 1)]


class ProviderAccountOut(View):
    """A provider account, without its key."""

    id: int = Field(validation_alias="pk")
    name: str = Field(description="Its label, else the provider.")
    provider: str
    label: str
    key_hint: str = Field(description="The key's last characters; empty: no key, or a short one.")
    base_url: str = Field(description="Empty: the provider's own URL.")
    requests_per_minute: int | None = Field(description="Null: no limit.")
    tokens_per_minute: int | None = Field(description="Null: no limit.")
    enabled: bool = Field(description="An enabled account's key replaces the environment's.")
    healthy: bool | None = Field(description="Result of the last check; null: none yet.")
    health_message: str
    checked_at: Time | None


class ProviderAccountsOut(Page):
    """The workspace's provider accounts, the oldest first."""

    accounts: list[ProviderAccountOut]


class ProviderAccountIn(Body):
    """A provider account to add; its key is stored encrypted and never returned."""

    provider: Annotated[Word, Field(min_length=1, max_length=40)] = Field(
        description="Provider, such as openai."
    )
    label: Annotated[Word, Field(max_length=100)] = Field(
        "", description="Name among several accounts, such as production."
    )
    key: Annotated[str, Field(max_length=500)] = Field(
        "", description="The provider's key; empty: none."
    )
    base_url: Annotated[Word, Field(max_length=200)] = Field(
        "", description="URL of the API; empty: the provider's own."
    )
    requests_per_minute: PerMinute | None = Field(
        None, description="Model calls per minute of all workers together; null: no limit."
    )
    tokens_per_minute: PerMinute | None = Field(
        None, description="Tokens per minute, read and written; null: no limit."
    )
    enabled: bool = Field(default=True, description="The account's key replaces the environment's.")


@changes("provider", null=False)
class ProviderAccountChangeIn(ProviderAccountIn):
    """Settings to change; one that is left out stays. A new base URL takes the key again."""


NOUN = Noun("provider_accounts", read=READ_RUNS, write=MANAGE)

LIST_PROVIDER_ACCOUNTS = NOUN.get(
    "list_provider_accounts", "/provider-accounts", ProviderAccountsOut,
    command="`heartbit provider-accounts list`",
)  # fmt: skip
CREATE_PROVIDER_ACCOUNT = NOUN.post(
    "create_provider_account", "/provider-accounts", ProviderAccountOut, "Add a provider account",
    body=ProviderAccountIn, status=201, errors=(409,),
)  # fmt: skip
CHANGE_PROVIDER_ACCOUNT = NOUN.patch(
    "change_provider_account", "/provider-accounts/{account_id}", ProviderAccountOut,
    body=ProviderAccountChangeIn, errors=(409,),
)  # fmt: skip
CHECK_PROVIDER_ACCOUNT = NOUN.post(
    "check_provider_account", "/provider-accounts/{account_id}/check", ProviderAccountOut
)
REMOVE_PROVIDER_ACCOUNT = NOUN.delete("remove_provider_account", "/provider-accounts/{account_id}")
