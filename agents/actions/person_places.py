"""Places that hold what a person said: erasure deletes them, and an export contains them.

``PLACES`` is the one list of both, so a table that is added to it is in both. Rows that the
database deletes with a place's rows (``on_delete=CASCADE``) are found from the models.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import CASCADE, Model, Q, QuerySet
from django.db.models.fields.reverse_related import ForeignObjectRel
from django.utils.module_loading import import_string

from agents.models import (
    AgentDraft,
    AgentVersion,
    ChatAccount,
    Conversation,
    Delivery,
    InboundMessage,
    Message,
    NotifiedBrowser,
    RecalledMemory,
    Run,
    StateEntry,
    TaskPush,
    WebhookDelivery,
)
from heartbit_site.base.models import SavedView, Workspace
from heartbit_site.base.people import User
from memory.models import MemoryChange, MemoryItem
from tools.models import Credential, PendingSignIn


@dataclass(frozen=True, slots=True)
class Reached:
    """Extent of a person's erasure.

    Attributes:
        workspace: Data of other workspaces is not reached.
        user: The person.
        agent: Only texts to this agent; empty: to all agents.
        roots: Roots of the run trees in the database.
        conversations: Conversations of these trees.
        runs: Ids of all runs of the trees, and of those in archives.
    """

    workspace: Workspace
    user: User
    agent: str
    roots: frozenset[UUID]
    conversations: frozenset[UUID]
    runs: frozenset[UUID]


Rows = Callable[[Reached], QuerySet[Any]]


@dataclass(frozen=True, slots=True)
class PersonPlace:
    """Rows of one table.

    Attributes:
        rows: Query of the rows.
        blanked: Text columns that are emptied; none: the rows are deleted.
        whole: True if the rows are kept when only one agent's texts are erased.
        delete: Deletes the rows in another way than ``QuerySet.delete``.
    """

    rows: Rows
    blanked: tuple[str, ...] = ()
    whole: bool = False
    delete: Callable[[Reached], None] | None = None

    def erase(self, reached: Reached) -> None:
        """Delete or blank the rows, in the caller's transaction."""
        if self.delete is not None:
            self.delete(reached)
        elif self.blanked:
            self.rows(reached).update(**dict.fromkeys(self.blanked, ""))
        else:
            self.rows(reached).delete()


def places_of(reached: Reached) -> list[PersonPlace]:
    """Return the places that concern an erasure, in the order of deletion."""
    return [place for place in PLACES if not (place.whole and reached.agent)]


def tables_of(place: PersonPlace, reached: Reached) -> Iterator[QuerySet[Any]]:
    """Yield a place's rows, and table by table those that are deleted with them."""
    rows = place.rows(reached)
    yield rows
    if not place.blanked:
        reach: dict[type[Model], Q] = {}
        _cascade(rows, {rows.model}, reach)
        for model, having in reach.items():
            yield model._default_manager.filter(having)


def models_of(model: type[Model]) -> set[type[Model]]:
    """Return the tables whose rows are deleted with a table's rows, and that table."""
    found = {model}
    new = [model]
    while new:
        children = {child for child, _ in _children(new.pop())} - found
        found |= children
        new += children
    return found


def _cascade(rows: QuerySet[Any], above: set[type[Model]], reach: dict[type[Model], Q]) -> None:
    for child, field in _children(rows.model):
        if child in above:  # a tree's runs are all among the place's rows
            continue
        having = Q(**{f"{field}__in": rows.values("pk")})
        reach[child] = reach.get(child, Q()) | having
        _cascade(child._default_manager.filter(having), above | {child}, reach)


def _children(model: type[Model]) -> Iterator[tuple[type[Model], str]]:
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.on_delete is CASCADE:
            child: Any = relation.related_model
            yield child, relation.field.name


def planned(reached: Reached) -> QuerySet[Any]:
    """Return the schedules that agents planned in the runs; the scheduling app is above this."""
    rows: QuerySet[Any] = import_string(settings.HEARTBIT_PLANS)(reached.workspace, reached.runs)
    return rows


def _erase_plans(reached: Reached) -> None:
    import_string(settings.HEARTBIT_ERASE_PLANS)(reached.workspace, reached.runs)


def _messages(reached: Reached) -> QuerySet[Any]:
    ids = reached.runs
    return Message.objects.filter(
        Q(source_run_id__in=ids) | Q(run_id__in=ids), workspace=reached.workspace
    )


def _memories(reached: Reached) -> QuerySet[Any]:
    """Return memories of conversations, and those of no one person that the runs changed."""
    told = Q(conversation_id__in=reached.conversations) | Q(
        user=None, pk__in=_changed_by(reached.runs)
    )
    return MemoryItem.objects.filter(told, workspace=reached.workspace)


def _changed_by(runs: Collection[UUID]) -> QuerySet[Any, Any]:
    return MemoryChange.objects.filter(run_id__in=runs).values("item")


def _state(reached: Reached) -> QuerySet[Any]:
    """Return entries of the state store that the runs wrote, or anything else for the person."""
    wrote = Q(run_id__in=reached.runs) | Q(conversation__in=reached.conversations)
    if not reached.agent:
        wrote |= Q(user=reached.user)
    return StateEntry.objects.filter(wrote, workspace=reached.workspace)


def _own_memories(reached: Reached) -> QuerySet[Any]:
    return MemoryItem.objects.of_person(reached.workspace, reached.user, reached.agent)


def _given(reached: Reached) -> QuerySet[Any]:
    """Return texts of another memory provider that runs were given for the person."""
    rows = RecalledMemory.objects.filter(run__workspace=reached.workspace, person=reached.user)
    return rows.filter(run__agent=reached.agent) if reached.agent else rows


def _kept(reached: Reached) -> None:
    """Delete nothing: ``memory.actions.erase`` deletes these, and counts them."""


#: In the order of deletion: the runs are found through nothing that is deleted before them.
PLACES: Final = (
    PersonPlace(planned, delete=_erase_plans),
    PersonPlace(_messages),
    PersonPlace(lambda to: Delivery.objects.filter(workspace=to.workspace, run_id__in=to.runs)),
    PersonPlace(
        lambda to: WebhookDelivery.objects.filter(
            endpoint__workspace=to.workspace, run_id__in=to.runs
        )
    ),
    PersonPlace(lambda to: TaskPush.objects.filter(workspace=to.workspace, run_id__in=to.runs)),
    PersonPlace(
        lambda to: InboundMessage.objects.filter(
            channel__workspace=to.workspace, run_id__in=to.runs
        ),
        blanked=("sender", "title"),
    ),
    PersonPlace(_memories),
    PersonPlace(_state),
    PersonPlace(_own_memories, delete=_kept),
    PersonPlace(_given),
    # Without an audit entry each, which would keep the name.
    PersonPlace(
        lambda to: Credential.objects.filter(workspace=to.workspace, user=to.user), whole=True
    ),
    PersonPlace(
        lambda to: SavedView.objects.filter(workspace=to.workspace, user=to.user), whole=True
    ),
    PersonPlace(
        lambda to: NotifiedBrowser.objects.filter(workspace=to.workspace, user=to.user), whole=True
    ),
    PersonPlace(
        lambda to: ChatAccount.objects.filter(app__workspace=to.workspace, user=to.user),
        whole=True,
    ),
    PersonPlace(
        lambda to: PendingSignIn.objects.filter(workspace=to.workspace, started_by=to.user),
        whole=True,
    ),
    PersonPlace(
        lambda to: AgentVersion.objects.filter(
            agent__workspace=to.workspace, published_by=to.user.get_username()
        ),
        blanked=("published_by",),
        whole=True,
    ),
    PersonPlace(
        lambda to: AgentDraft.objects.filter(
            agent__workspace=to.workspace, saved_by=to.user.get_username()
        ),
        blanked=("saved_by",),
        whole=True,
    ),
    PersonPlace(
        lambda to: MemoryChange.objects.filter(
            item__workspace=to.workspace, author=to.user.get_username()
        ),
        blanked=("author",),
        whole=True,
    ),
    PersonPlace(
        lambda to: Run.objects.filter(root_id__in=to.roots),
        delete=lambda to: _delete_trees(to.roots),
    ),
    PersonPlace(
        lambda to: Conversation.objects.filter(workspace=to.workspace, pk__in=to.conversations)
    ),
)

_CHUNK: Final = 100  # trees that are deleted at once


def _delete_trees(roots: Collection[UUID]) -> None:
    ordered = sorted(roots)
    for start in range(0, len(ordered), _CHUNK):
        Run.objects.filter(root_id__in=ordered[start : start + _CHUNK]).delete()
