"""Where a run's result goes: what people and programs write, checked.

Usage::

    targets = check_targets(workspace, [{"kind": "email", "to": ["ada@example.org"]}])
    order_deliveries(run_id, workspace, targets)  # in the transaction that starts the run
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Literal

from django.core import exceptions
from django.core.validators import validate_email
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from agents.errors import InvalidTargetsError
from agents.models import WebhookEndpoint
from heartbit_site.base.untrusted import UntrustedJSONError, clean_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.base.models import Workspace

MOST_TARGETS = 20
MOST_ADDRESSES = 20
MOST_REFERENCES = 50
_LARGEST_ID = 2**63 - 1
# What no line of a header may hold; a family of emoji is joined by format characters, which may.
_NOT_IN_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
_ARTIFACTS_OWN = re.compile(r"data|code-\d+")
_MESSAGE_ID = r"<[!-;=?-~]{1,400}>"
_SHOWN_CHARACTERS = 60


def _address(text: str) -> str:
    try:
        validate_email(text)
    except exceptions.ValidationError:
        usable = False
    else:
        usable = text.isprintable() and '"' not in text
    if not usable:
        raise ValueError("is no e-mail address: write it like ada@example.org, without a name")
    return text


def _once(addresses: list[str]) -> list[str]:
    return list(dict.fromkeys(addresses))


def _one_line(text: str) -> str:
    if any(unicodedata.category(character) in _NOT_IN_A_LINE for character in text):
        raise ValueError("must be one line without control characters")
    return text


def _free(name: str) -> str:
    if _ARTIFACTS_OWN.fullmatch(name):
        raise ValueError("is what a run calls its own artifacts: choose another name")
    return name


_Address = Annotated[str, Field(max_length=254), AfterValidator(_address)]
_MessageId = Annotated[str, Field(pattern=rf"^{_MESSAGE_ID}\z")]


class _Target(BaseModel):
    """What all of them keep to."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EmailTarget(_Target):
    """A mail.

    Attributes:
        to: Addresses, which see one another.
        subject: Empty: the agent's name and the first words of the task.
        attach: Whether the answer, as ``report.md``, and the run's artifacts are attached.
        external: Whether it goes to people who are not of the workspace: they get the answer alone,
            without a link to the run or files, and nothing if there is no answer.
        in_reply_to: The Message-ID that it answers, with its angle brackets; empty: none.
        references: The Message-IDs of the thread before it, the oldest first.
    """

    kind: Literal["email"] = "email"
    to: Annotated[
        list[_Address],
        Field(min_length=1, max_length=MOST_ADDRESSES),
        AfterValidator(_once),
    ]
    subject: Annotated[str, Field(max_length=200), AfterValidator(_one_line)] = ""
    attach: bool = True
    external: bool = False
    in_reply_to: Annotated[str, Field(pattern=rf"^({_MESSAGE_ID})?\z")] = ""
    references: Annotated[list[_MessageId], Field(max_length=MOST_REFERENCES)] = []

    @model_validator(mode="after")
    def _names_no_agent(self) -> EmailTarget:
        if self.external and not self.subject:
            raise ValueError("needs a subject when it goes outside")
        return self


class WebhookTarget(_Target):
    """A message to a webhook, whatever that is told of otherwise.

    Attributes:
        endpoint: Its id; it is the workspace's.
    """

    kind: Literal["webhook"] = "webhook"
    endpoint: Annotated[int, Field(ge=1, le=_LARGEST_ID)]


class ArtifactTarget(_Target):
    """The whole answer as a file of the run, to be fetched beside its other artifacts.

    Attributes:
        name: What the artifact is called.
    """

    kind: Literal["artifact"] = "artifact"
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}\z"), AfterValidator(_free)]


Target = Annotated[EmailTarget | WebhookTarget | ArtifactTarget, Field(discriminator="kind")]
TARGET: TypeAdapter[Target] = TypeAdapter(Target)
TARGETS: TypeAdapter[tuple[Target, ...]] = TypeAdapter(
    Annotated[tuple[Target, ...], Field(max_length=MOST_TARGETS)]
)
_FORMS: dict[str, type[_Target]] = {
    "email": EmailTarget,
    "webhook": WebhookTarget,
    "artifact": ArtifactTarget,
}


def check_targets(workspace: Workspace, value: object) -> tuple[Target, ...]:
    """The targets that a JSON value names.

    Args:
        workspace: Whose run it is: webhooks are looked for there.
        value: A list of objects, each with its ``kind``.

    Raises:
        InvalidTargetsError: It is none; one sentence says which, and why.
    """
    targets = read_targets(value)
    _check_webhooks(workspace, targets)
    return targets


def read_targets(value: object) -> tuple[Target, ...]:
    """The same of a list that was checked once, without a look at what is there by now.

    A webhook that was removed since then fails its own delivery, with a sentence in the log, and
    not the run.

    Raises:
        InvalidTargetsError: It is no list of targets.
    """
    try:
        targets = TARGETS.validate_python(clean_json(value))
    except UntrustedJSONError as error:
        raise InvalidTargetsError(f"The deliveries cannot be kept as JSON: {error}") from error
    except ValidationError as error:
        raise InvalidTargetsError(_sentence(error)) from None
    _check_names(targets)
    return targets


def target_of(value: object) -> Target:
    """The target that a delivery holds.

    Raises:
        InvalidTargetsError: It is of a form that is no longer known.
    """
    try:
        return TARGET.validate_python(value)
    except ValidationError as error:
        raise InvalidTargetsError(
            f"The delivery's target cannot be read any more: {error.errors()[0]['msg']}."
        ) from None


def describe_target(target: dict[str, Any]) -> str:
    """To whom, or what, a delivery goes, as people read it.

    Args:
        target: As the delivery holds it.
    """
    match target:
        case {"kind": "email", "to": addresses}:
            return ", ".join(addresses)
        case {"kind": "webhook", "endpoint": endpoint}:
            return f"webhook {endpoint}"
        case {"kind": "artifact", "name": name}:
            return f"artifact {name}"
    return "unknown"


def _check_webhooks(workspace: Workspace, targets: Sequence[Target]) -> None:
    wanted = {one.endpoint for one in targets if isinstance(one, WebhookTarget)}
    if not wanted:
        return
    rows = WebhookEndpoint.objects.filter(workspace=workspace, pk__in=wanted)
    missing = sorted(wanted - set(rows.values_list("pk", flat=True)))
    if missing:
        raise InvalidTargetsError(
            f"The workspace has no webhook {missing[0]} to deliver to: GET /webhooks lists them."
        )


def _check_names(targets: Sequence[Target]) -> None:
    names = [one.name for one in targets if isinstance(one, ArtifactTarget)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidTargetsError(
            f"Two deliveries keep the answer as the artifact {twice!r}: give each its own name."
        )


def _sentence(error: ValidationError) -> str:
    """What is wrong first. Names are untrusted, so they are cut; values are not repeated."""
    problem = error.errors(include_url=False)[0]
    location, kinds = problem["loc"], ", ".join(_FORMS)
    if problem["type"] == "too_long" and not location:
        return f"There are too many deliveries: at most {MOST_TARGETS}."
    if not location:
        return f"Deliveries are a list of objects, each of a kind: {kinds}."
    which = f"Delivery {int(location[0]) + 1}"
    if problem["type"] == "value_error" and len(location) == 2:
        return f"{which} ({location[1]}) {problem['ctx']['error']}."
    if len(location) < 3:  # place, kind, field
        return f"{which} has to be an object whose kind is one of {kinds}."
    kind, field = str(location[1]), ".".join(map(str, location[2:]))[:_SHOWN_CHARACTERS]
    match problem["type"]:
        case "missing":
            return f"{which} ({kind}) needs the field {field!r}."
        case "extra_forbidden":
            known = ", ".join(_FORMS[kind].model_fields)
            return f"{which} ({kind}) has no field {field!r}: it takes {known}."
        case "value_error":
            return f"{which} ({kind}): {field!r} {problem['ctx']['error']}."
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{which} ({kind}): {field!r} is not right: {message}."
