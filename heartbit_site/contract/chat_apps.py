"""Chat apps: where members are asked what waits for them, and decide it by their own accounts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from heartbit_site.base.view import Time, View
from heartbit_site.contract.model import Body, Page, Word, changes
from heartbit_site.contract.operation import DECIDE, MANAGE, READ_RUNS, Noun

Secret = Annotated[str, Field(max_length=500)]


class ChatAppOut(View):
    """A chat app, without its secrets."""

    id: int = Field(validation_alias="pk")
    name: str
    kind: Literal["slack"]
    enabled: bool
    channel: str = Field(
        validation_alias="place",
        description="Id of the channel that is asked; empty: each linked member who may decide.",
    )
    api_url: str = Field(description="Empty: https://slack.com/api.")
    url: str = Field(description="URL for the service's signed requests.")
    last_error: str = Field(description="Error of the last request; empty: it succeeded.")
    linked: bool = Field(description="True if an account there decides as you.")
    created_at: Time


class ChatAppsOut(Page):
    """The workspace's chat apps, the newest first."""

    chat_apps: list[ChatAppOut]


class ChatAppIn(Body):
    """A chat app to add; its secrets are stored encrypted and never returned."""

    name: Annotated[Word, Field(min_length=1, max_length=100)] = Field(
        description="Name in lists, such as our Slack."
    )
    kind: Literal["slack"] = Field("slack", description="Service of the chat.")
    channel: Annotated[Word, Field(max_length=100)] = Field(
        "", description="Id of the channel to ask; empty: direct messages to linked members."
    )
    bot_token: Secret = Field("", description="Token that begins with xoxb-.")
    signing_secret: Secret = Field(
        "", description="Secret that signs requests; empty: none is accepted."
    )
    app_token: Secret = Field(
        "", description="Token that begins with xapp-, for Socket Mode; empty: it is not used."
    )
    api_url: Annotated[Word, Field(max_length=200)] = Field(
        "", description="URL of the API; empty: https://slack.com/api."
    )
    enabled: bool = Field(default=True, description="Members are asked.")


@changes("kind", null=False)
class ChatAppChangeIn(ChatAppIn):
    """Settings to change; one that is left out stays. A new API URL takes the tokens again."""


class ChatCheckOut(View):
    """The app as its service knows it."""

    account: str = Field(description="Names of the bot and its team.")


class ChatCodeOut(View):
    """A code that links an account, once."""

    code: str = Field(description="Code to send to the app; returned only here.")
    command: str = Field(description="Line to write in the chat.")
    expires_at: Time


class ChatReplyOut(View):
    """The answer to an event of a chat app, in the words of its service."""

    response_type: str | None = None
    text: str | None = None
    response_action: str | None = None
    errors: dict[str, str] | None = None


NOUN = Noun("chat_apps", read=READ_RUNS, write=MANAGE)

LIST_CHAT_APPS = NOUN.get(
    "list_chat_apps", "/chat-apps", ChatAppsOut, command="`heartbit chat-apps list`"
)
CREATE_CHAT_APP = NOUN.post(
    "create_chat_app", "/chat-apps", ChatAppOut, body=ChatAppIn, status=201, errors=(409,)
)
CHANGE_CHAT_APP = NOUN.patch(
    "change_chat_app", "/chat-apps/{chat_app_id}", ChatAppOut, body=ChatAppChangeIn, errors=(409,)
)
CHECK_CHAT_APP = NOUN.post("check_chat_app", "/chat-apps/{chat_app_id}/check", ChatCheckOut)
REMOVE_CHAT_APP = NOUN.delete("remove_chat_app", "/chat-apps/{chat_app_id}")
LINK_CHAT_ACCOUNT = NOUN.post(
    "link_chat_account", "/chat-apps/{chat_app_id}/link", ChatCodeOut,
    "Make a code that links your account", needs=DECIDE, status=201, errors=(409,),
)  # fmt: skip
UNLINK_CHAT_ACCOUNT = NOUN.delete(
    "unlink_chat_account", "/chat-apps/{chat_app_id}/link", "Unlink your account", needs=DECIDE,
    errors=(409,),
)  # fmt: skip
