"""Delivery targets of a run's result, and their validation.

Usage::

    targets = check_targets(workspace, [{"kind": "email", "to": ["ada@example.org"]}])
    create_deliveries(run_id, workspace, targets)  # in the transaction that starts the run
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from django.core import exceptions
from django.core.validators import validate_email
from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
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
from agents.models import Delivery, Run, WebhookEndpoint
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.base.untrusted import UntrustedJSONError, clean_json
from tools.connectors.drive.files import DriveError, checked_name

MOST_TARGETS = 20
MOST_ADDRESSES = 20
MOST_REFERENCES = 50
_LARGEST_ID = 2**63 - 1
# Characters not allowed in a header line; format characters are, because they join emoji.
_NOT_IN_A_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
_ARTIFACT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_ARTIFACTS_OWN = re.compile(r"data|code-\d+")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACES = ("date", "time", "agent", "run")
_LONGEST_PLACE = "x" * 64  # of an agent's name
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
        raise ValueError("is not an e-mail address: write it like ada@example.org, without a name")
    return text


def _once(addresses: list[str]) -> list[str]:
    return list(dict.fromkeys(addresses))


def _one_line(text: str) -> str:
    if any(unicodedata.category(character) in _NOT_IN_A_LINE for character in text):
        raise ValueError("must be one line without control characters")
    return text


def _artifact_name(name: str) -> str:
    if not _ARTIFACT_NAME.fullmatch(name):
        raise ValueError(
            "takes up to 64 lower-case letters, digits, - and _; begin with a letter or digit"
        )
    if _ARTIFACTS_OWN.fullmatch(name):
        raise ValueError("is reserved for a run's own artifacts: choose another name")
    return name


def _file(name: str) -> str:
    unknown = {match[1] for match in _PLACEHOLDER.finditer(name)} - {*_PLACES}
    if unknown:
        raise ValueError(
            f"has {{{sorted(unknown)[0][:40]}}}: use {', '.join(f'{{{one}}}' for one in _PLACES)}"
        )
    try:
        checked_name(_PLACEHOLDER.sub(_LONGEST_PLACE, name))
        return unicodedata.normalize("NFC", name)
    except DriveError:
        raise ValueError(
            "is not a valid file name: write it like reports/{date}.md, with no part that is "
            "empty, begins with a dot or a blank, or has unusual characters"
        ) from None


_Address = Annotated[str, Field(max_length=254), AfterValidator(_address)]
_MessageId = Annotated[str, Field(pattern=rf"^{_MESSAGE_ID}\z")]


class _Target(BaseModel):
    """Base of the targets."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EmailTarget(_Target):
    """Delivery by e-mail.

    Attributes:
        to: Addresses, visible to all recipients.
        subject: Subject; empty for the schedule's name, else the agent's and the first words of the
            task.
        attach: True to attach the answer, as ``report.md``, and the run's artifacts.
        external: True for recipients outside the workspace: they get only the answer, without a
            link to the run or files, and no mail if there is no answer.
        in_reply_to: Message-ID that is answered, with its angle brackets; may be empty.
        references: Message-IDs of the thread before it, oldest first.
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
            raise ValueError("needs a subject when it is external")
        return self


class WebhookTarget(_Target):
    """Delivery to a webhook, whatever events the webhook subscribes to.

    Attributes:
        endpoint: Id of an endpoint of the workspace.
    """

    kind: Literal["webhook"] = "webhook"
    endpoint: Annotated[int, Field(ge=1, le=_LARGEST_ID)]


class ArtifactTarget(_Target):
    """Storage of the whole answer as an artifact of the run.

    Attributes:
        name: The artifact's name.
    """

    kind: Literal["artifact"] = "artifact"
    name: Annotated[str, AfterValidator(_artifact_name)]


class DriveTarget(_Target):
    """Storage of the whole answer as a file of the workspace's drive.

    Attributes:
        file: The file's name; ``{date}``, ``{time}``, ``{agent}`` and ``{run}`` stand for the end
            of the run (UTC), its agent and its id.
        replace: True to replace a file of that name; else the delivery fails.
    """

    kind: Literal["drive"] = "drive"
    file: Annotated[str, AfterValidator(_file)]
    replace: bool = False

    def file_of(self, run: Run) -> str:
        """Return the name of the file of an ended run."""
        ended = run.finished_at or run.created_at
        values = {"agent": run.agent, "run": str(run.pk)}
        values |= {"date": f"{ended:%Y-%m-%d}", "time": f"{ended:%H-%M-%S}"}
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.file)


Target = Annotated[
    EmailTarget | WebhookTarget | ArtifactTarget | DriveTarget, Field(discriminator="kind")
]
TARGET: TypeAdapter[Target] = TypeAdapter(Target)
TARGETS: TypeAdapter[tuple[Target, ...]] = TypeAdapter(
    Annotated[tuple[Target, ...], Field(max_length=MOST_TARGETS)]
)
_FORMS: dict[str, type[_Target]] = {
    "email": EmailTarget,
    "webhook": WebhookTarget,
    "artifact": ArtifactTarget,
    "drive": DriveTarget,
}


def check_targets(workspace: Workspace, value: object) -> tuple[Target, ...]:
    """Validate the targets in a JSON value.

    Args:
        workspace: The run's workspace, which must have the webhooks.
        value: A list of objects, each with its ``kind``.

    Raises:
        InvalidTargetsError: A target is not valid; the message names it and the reason.
    """
    targets = read_targets(value)
    _check_webhooks(workspace, targets)
    return targets


def read_targets(value: object) -> tuple[Target, ...]:
    """Read targets that were validated before, without checking that their webhooks still exist.

    A webhook that is named twice is one target.

    A webhook removed since then fails its own delivery, with a sentence in the log, and not the
    run.

    Raises:
        InvalidTargetsError: The value is not a list of targets.
    """
    try:
        targets = TARGETS.validate_python(clean_json(value))
    except UntrustedJSONError as error:
        raise InvalidTargetsError(f"The deliveries cannot be stored as JSON: {error}") from error
    except ValidationError as error:
        raise InvalidTargetsError(_sentence(error)) from None
    _check_names(targets)
    return _once_per_webhook(targets)


def target_of(value: object) -> Target:
    """Read the target stored in a delivery.

    Raises:
        InvalidTargetsError: The stored form is not supported.
    """
    try:
        return TARGET.validate_python(value)
    except ValidationError as error:
        raise InvalidTargetsError(
            f"The delivery's target is not supported: {error.errors()[0]['msg']}."
        ) from None


def ending_of(target: Target) -> str:
    """Return a target's name in the table of outputs (``agents.runtime.rights.data_flow``)."""
    external = isinstance(target, EmailTarget) and target.external
    return f"{target.kind}, external" if external else target.kind


def describe_target(target: dict[str, Any], webhook: str | None = None) -> str:
    """Return the recipients or the name of a stored target, for people.

    Args:
        target: The target.
        webhook: Name of its webhook; None without a webhook, or if it was removed.
    """
    match target:
        case {"kind": "email", "to": addresses}:
            return ", ".join(addresses)
        case {"kind": "webhook", "endpoint": endpoint}:
            return f"webhook {webhook}" if webhook else f"removed webhook {endpoint}"
        case {"kind": "artifact", "name": name}:
            return f"artifact {name}"
        case {"kind": "drive", "file": file}:
            return f"drive file {file}"
    return "unknown"


def describe_targets(rows: Sequence[Sequence[dict[str, Any]]]) -> list[list[str]]:
    """Return the targets of each schedule or channel as ``describe_target`` does."""
    numbers = {one["endpoint"] for row in rows for one in row if one["kind"] == "webhook"}
    names = dict(WebhookEndpoint.objects.filter(pk__in=numbers).values_list("pk", "name"))
    return [
        [describe_target(one, names.get(one.get("endpoint", 0))) for one in row] for row in rows
    ]


def with_webhook_names(rows: QuerySet[Delivery]) -> QuerySet[Any]:
    """Return deliveries, each with the name of its webhook as ``webhook_name``."""
    number = Cast(KT("target__endpoint"), BigIntegerField())
    names = WebhookEndpoint.objects.filter(pk=OuterRef("webhook_number")).values("name")
    return rows.annotate(webhook_number=number, webhook_name=Subquery(names))


def _check_webhooks(workspace: Workspace, targets: Sequence[Target]) -> None:
    wanted = {one.endpoint for one in targets if isinstance(one, WebhookTarget)}
    if not wanted:
        return
    rows = WebhookEndpoint.objects.filter(workspace=workspace, pk__in=wanted)
    missing = sorted(wanted - set(rows.values_list("pk", flat=True)))
    if missing:
        raise InvalidTargetsError(
            f"The workspace has no webhook {missing[0]} to deliver to.",
            remedy=Remedy("webhooks.list_webhooks"),
        )


def _once_per_webhook(targets: Sequence[Target]) -> tuple[Target, ...]:
    keys = [
        one.endpoint if isinstance(one, WebhookTarget) else f"target {number}"
        for number, one in enumerate(targets)
    ]
    return tuple(dict(zip(keys, targets, strict=True)).values())


def _check_names(targets: Sequence[Target]) -> None:
    names = [one.name for one in targets if isinstance(one, ArtifactTarget)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidTargetsError(
            f"Two deliveries store the answer as the artifact {twice!r}: give each its own name."
        )


def _sentence(error: ValidationError) -> str:
    """Describe the first error. Names are untrusted, so they are cut; values are not repeated."""
    problem = error.errors(include_url=False)[0]
    location, kinds = problem["loc"], ", ".join(_FORMS)
    if problem["type"] == "too_long" and not location:
        return f"There are too many deliveries: at most {MOST_TARGETS}."
    if not location:
        return f"Deliveries must be a list of objects, each with a kind: {kinds}."
    which = f"Delivery {int(location[0]) + 1}"
    if problem["type"] == "value_error" and len(location) == 2:
        return f"{which} ({location[1]}) {problem['ctx']['error']}."
    if len(location) < 3:  # place, kind, field
        return f"{which} must be an object whose kind is one of {kinds}."
    kind, name = str(location[1]), str(location[2])[:_SHOWN_CHARACTERS]
    entry = location[3] + 1 if len(location) > 3 and isinstance(location[3], int) else None
    field = f"{name!r}" if entry is None else f"entry {entry} of {name!r}"
    match problem["type"]:
        case "missing":
            return f"{which} ({kind}) needs the field {field}."
        case "extra_forbidden":
            known = ", ".join(_FORMS[kind].model_fields)
            return f"{which} ({kind}) has no field {field}: use {known}."
        case "value_error":
            return f"{which} ({kind}): {field} {problem['ctx']['error']}."
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{which} ({kind}): {field} is not right: {message}."
