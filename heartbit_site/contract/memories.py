"""Memories of agents, of the workspace and of persons."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasPath, Field, JsonValue

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Name, NumberOnly, Page, Text, Word, changes
from heartbit_site.contract.operation import MANAGE, MANAGE_OR_OWN, READ_RUNS, Noun, Operation

ScopeName = Literal["workspace", "agent", "person", "conversation"]
#: A conversation's memories are stored by its runs.
NewScope = Literal["workspace", "agent", "person"]
CategoryName = Literal["fact", "decision", "preference", "todo", "learning", "context", "summary"]
Reason = Annotated[Text, Field(max_length=500, description="Kept in the memory's history.")]


class MemoryOut(View):
    """A memory."""

    id: int = Field(validation_alias="pk")
    scope: ScopeName
    agent: str = Field(description="Name of the agent that recalls it; empty: all agents.")
    person: str | None = Field(
        None,
        validation_alias=AliasPath("user", "username"),
        description="The person that it concerns; null if it concerns no single person.",
    )
    conversation_id: Id | None
    category: CategoryName
    text: str
    importance: int
    metadata: dict[str, JsonValue]
    language: str
    use_count: int = Field(description="Number of times that a run recalled it.")
    used_at: Time | None
    from_outsiders: bool = Field(
        description="True if the run that wrote its text had read text by outsiders."
    )
    created_at: Time
    updated_at: Time
    forgotten_at: Time | None = Field(
        description="Time at which it was forgotten; null while it is recalled."
    )


class MemoriesOut(Page):
    """Memories, the newest first."""

    memories: list[MemoryOut]


class MemoryChangeOut(View):
    """A change of a memory."""

    kind: Literal["remembered", "superseded", "forgotten"]
    before: dict[str, Any] | None = Field(
        description="Content before the change; null for a new memory."
    )
    reason: str
    author: str
    run_id: Id | None = Field(
        description="The run that made the change, or in which it was said; null for a person or "
        "program."
    )
    created_at: Time
    undone_at: Time | None = Field(
        description="Time at which the change was undone; null if it was not."
    )


class MemorySourceOut(View):
    """A run in which a memory was said."""

    run_id: Id
    turn: int = Field(description="Turn of the run in which it was read or answered.")
    replaced: bool = Field(description="True if the memory said something else before.")
    created_at: Time = Field(description="Time of its extraction.")


class MemoryDetailOut(MemoryOut):
    """A memory with its history, the last change first."""

    history: list[MemoryChangeOut]
    sources: list[MemorySourceOut] = Field(
        description="Runs from which it was extracted, the first one first."
    )


class MemoryHitOut(View):
    """A matching memory, with the parts of its score, each from 0 to 1."""

    score: float
    relevance: float
    recency: float
    importance: float
    strength: float
    nearness: int | None = Field(description="Rank by meaning; null if found only by words.")
    why: str = Field(description="The parts as text.")
    memory: MemoryOut = Field(validation_alias="item")


class MemoryHitsOut(Page):
    """The best matching memories, the best first."""

    found_by: str = Field(description="By words alone, or by meaning too; and why.")
    hits: list[MemoryHitOut]


class MemoryIn(Body):
    """A memory to store."""

    text: Annotated[Text, Field(min_length=1, max_length=4_000)]
    scope: NewScope = Field("person", description="Owner of the memory.")
    agent: Name = Field("", description="The agent that recalls it; not for the workspace's.")
    person: Word | None = Field(None, description="Their user name; null: you.")
    category: CategoryName = Field("fact", description="Kind of the statement.")
    importance: int = Field(5, ge=1, le=10, description="Importance from 1, trivial, to 10, vital.")
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict, max_length=50, description="Free JSON."
    )


@changes("scope", "agent", "person")
class MemoryChangeIn(MemoryIn):
    """Content to replace; what is left out stays."""

    reason: Reason = ""


class ForgetIn(Body):
    """A memory to forget."""

    reason: Reason = ""


class ErasedOut(View):
    """Number of erased memories."""

    person: str
    agent: str
    erased: int = Field(description="Their number.")
    runs: int = Field(default=0, description="Number of erased runs.")


class MemorySettingsOut(View):
    """Settings of the workspace's memories."""

    embedding_model: str = Field(
        description="Embedding model; empty: memories are found only by words."
    )
    problem: str = Field(description="The model's last error; empty: it answered.")
    kept_days: int | None = Field(
        description="Days without use until a memory is erased; null: never."
    )
    tier_days: int | None = Field(
        None,
        validation_alias=AliasPath("workspace", "tier", "memory_days"),
        description="Days of the workspace's tier, if it has any: the smaller number counts.",
    )


class PersonExportOut(View):
    """A person's data of the workspace as an archive; nothing of it is kept."""

    person: Word
    rows: int = Field(description="Number of rows in the archive.")
    size: int = Field(description="Size of the archive in bytes.")
    content: str = Field(
        description="ZIP archive in Base64: a file of JSON lines for each table, as in the guide."
    )


class MemorySettingsIn(Body):
    """Settings to change; null: unchanged."""

    embedding_model: Word | None = Field(
        None,
        description="Model that finds memories by meaning: local, or provider:model, which is then "
        "sent all memories; empty: none.",
    )
    kept_days: Annotated[Literal[0, 7, 30, 90], NumberOnly] | None = Field(
        None, description="Days without use until a memory is erased permanently; 0: never."
    )


NOUN = Noun("memories", read=READ_RUNS, write=MANAGE_OR_OWN)

LIST_MEMORIES = NOUN.get("list_memories", "/memories", MemoriesOut, command="`heartbit memory`")
SEARCH_MEMORIES = NOUN.get("search_memories", "/memories/search", MemoryHitsOut, "Search memories")
CREATE_MEMORY = NOUN.post(
    "create_memory", "/memories", MemoryOut, "Store a memory", body=MemoryIn, status=201
)
SHOW_SETTINGS = NOUN.get(
    "show_memory_settings", "/memories/settings", MemorySettingsOut, "Get the settings of memories"
)
CHANGE_SETTINGS = NOUN.patch(
    "change_memory_settings", "/memories/settings", MemorySettingsOut,
    "Change the settings of memories", needs=MANAGE, body=MemorySettingsIn,
)  # fmt: skip
ERASE_MEMORIES = Operation(
    "memories.erase_memories", "DELETE /memories/persons/{username}", ErasedOut,
    "Erase a person's memories", MANAGE_OR_OWN,
)  # fmt: skip
EXPORT_PERSON = Operation(
    "memories.export_person", "POST /memories/persons/{username}/export", PersonExportOut,
    "Export a person's data", MANAGE, errors=(409,),
)  # fmt: skip
SHOW_MEMORY = NOUN.get("show_memory", "/memories/{memory_id}", MemoryDetailOut)
CHANGE_MEMORY = NOUN.patch(
    "change_memory", "/memories/{memory_id}", MemoryOut, body=MemoryChangeIn, errors=(409,)
)
FORGET_MEMORY = NOUN.post("forget_memory", "/memories/{memory_id}/forget", MemoryOut, body=ForgetIn)
UNDO_MEMORY_CHANGE = NOUN.post(
    "undo_memory_change", "/memories/{memory_id}/undo", MemoryOut, "Undo a memory's last change",
    errors=(409,),
)  # fmt: skip
