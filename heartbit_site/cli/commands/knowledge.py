"""`heartbit knowledge`: documents that agents search, and cite."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

from heartbit_site.base.amounts import counted
from heartbit_site.base.visible_text import visible
from heartbit_site.cli.backend import chosen
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.installation.startup import ensure_ready
from heartbit_site.cli.options import common
from heartbit_site.cli.options.body import Given, body_options
from heartbit_site.cli.options.shared import ChangeHereCommand, RemoteCommand, with_groups
from heartbit_site.cli.terminal import errors, output
from heartbit_site.cli.terminal.table import Table, print_done, print_list, print_view
from heartbit_site.contract import knowledge as contract

BASE = common.argument("BASE", "The knowledge base's name.")
PATHS = common.argument("PATH...", "Files, and folders of files.")
NAME = common.argument("NAME", "The document's name.")
QUERY = common.argument("QUERY", "A question, or words to search for.")
PASSAGE = common.argument("ID", "The passage's number, as search shows it.")
SETTINGS = body_options(
    contract.KnowledgeBaseIn,
    "name",
    description=common.option("--description TEXT", "Say what its documents are about.", None),
    drive_folder=common.option(
        "--drive-folder FOLDER", "Import the files of this folder of the drive; '': of none.", None
    ),
)
IN_BASE = common.option("--base BASE", "Search only this knowledge base.")
SOURCE = common.option("--source TEXT", "Name the origin, such as a URL.")
NUMBER = common.option("--limit N", "Number of passages at most.", 10)

SHOWN: Final = 5  # hidden files in a sentence

app = common.group()


@app.command(name="list", cls=RemoteCommand)
def list_bases() -> int:
    """List the knowledge bases."""
    return chosen.print_all(contract.LIST_BASES, BASES, reads_only=True)


@app.command(cls=RemoteCommand)
@with_groups
def create(name: str = BASE, *, settings: Annotated[Given, SETTINGS]) -> int:
    """Create a knowledge base, or change its description and its folder of the drive."""
    made = chosen.call(contract.SAVE_BASE, {"name": name, **settings})
    return print_done(made, f"The knowledge base {made.name} is saved.")


@app.command(cls=RemoteCommand)
def refresh(base: str = BASE) -> int:
    """Import new, changed and deleted files of a base's folder of the drive now."""
    asked = chosen.call(contract.REFRESH_BASE, base=base)
    return print_done(
        asked, f"A worker will import the files of {output.one_line(asked.drive_folder)}."
    )


@app.command(cls=RemoteCommand)
def delete(base: str = BASE, *, yes: bool = common.YES) -> int:
    """Delete a knowledge base with its documents, for good."""
    server = chosen.backend()
    found = server.call(contract.SHOW_BASE, base=base)
    documents = counted(found.document_count, "document")
    chosen.confirm_removal(f"{output.one_line(found.name)} with {documents}", yes=yes)
    server.call(contract.REMOVE_BASE, base=base)
    return chosen.print_removed(found.id, found.name, stays="journals keep what runs have read")


@app.command(cls=RemoteCommand)
def documents(base: str = BASE) -> int:
    """List the documents of a knowledge base, with their state."""
    return chosen.print_all(contract.LIST_DOCUMENTS, DOCUMENTS, reads_only=True, base=base)


@app.command(cls=RemoteCommand)
def add(base: str = BASE, paths: list[Path] = PATHS, *, source: str = SOURCE) -> int:
    """Add documents, or replace those of their names; a worker reads them.

    A document has its file's name; in a folder, its path below the folder. Files that cannot be
    added are named at the end, and cost no other one; the exit code is then 1.
    """
    server = chosen.backend()
    saved: list[contract.SavedDocumentOut] = []
    left_out: dict[str, str] = {}  # sentences by name
    seen: dict[str, Path] = {}
    hidden: list[str] = []
    for name, path in _files(paths, left_out, hidden):
        first = seen.setdefault(name, path)
        if first.resolve() != path.resolve():
            left_out[str(path)] = (
                f"{path} would replace {first}, which is the document "
                f"{output.one_line(name)} as well: "
                "rename one, or add a folder that holds both."
            )
            continue
        try:
            body = {"name": name, "content": _encoded(path), "source": source}
            saved.append(server.call(contract.SAVE_DOCUMENT, body, base=base))
        except errors.CommandError as error:
            if error.code == errors.CANNOT_START:  # it is not about this document
                raise
            left_out[name] = errors.for_terminal(error)
            continue
        if not output.as_json():
            output.write(f"{output.one_line(name)}: {saved[-1].outcome}")
    if output.as_json():
        documents = [one.model_dump(mode="json") for one in saved]
        rows = [{"name": name, "problem": problem} for name, problem in left_out.items()]
        output.write_json({"documents": documents, "left_out": rows})
    else:
        _print_added(base, saved, left_out, hidden)
    return errors.FAILED if left_out else errors.OK


def _print_added(
    base: str, saved: list[contract.SavedDocumentOut], left_out: dict[str, str], hidden: list[str]
) -> None:
    _print_left_out(left_out, len(saved))
    if hidden:
        shown = output.listed([*hidden[:SHOWN], *(["others"] if len(hidden) > SHOWN else [])])
        output.note(f"Hidden files and folders are not added unless they are named: {shown}.")
    if not saved and not left_out:
        output.note("There are no other files in these folders: nothing was added.")
    if any(one.outcome != "unchanged" for one in saved):
        shows = f"`heartbit knowledge documents {output.one_line(base)}` shows progress."
        output.note(f"A worker reads them: {shows}")


def _print_left_out(left_out: dict[str, str], added: int) -> None:
    for name, problem in left_out.items():
        errors.say(problem if name in problem else f"{name}: {problem}")
    if len(left_out) + added > 1 and left_out:
        errors.say(f"{counted(len(left_out), 'file')} left out, {added} kept.")


@app.command(cls=RemoteCommand)
def remove(base: str = BASE, name: str = NAME, *, yes: bool = common.YES) -> int:
    """Delete a document with its passages, for good."""
    server = chosen.backend()
    found = _find(server, base, name)
    chosen.confirm_removal(output.one_line(found.name), yes=yes)
    server.call(contract.REMOVE_DOCUMENT, base=base, document_id=found.id)
    return chosen.print_removed(found.id, found.name, stays="journals keep what runs have read")


@app.command(cls=RemoteCommand)
def search(query: str = QUERY, *, base: str = IN_BASE, limit: int = NUMBER) -> int:
    """Search passages, the best first, as agents do."""
    wanted: dict[str, Any] = {"query": query, "base": base, "limit": limit}
    found = chosen.call(contract.SEARCH_PASSAGES, **wanted)
    if not output.as_json():
        output.note(f"Found by {found.found_by}.")
    return print_list(found, HITS)


@app.command(cls=RemoteCommand)
def show(passage_id: int = PASSAGE) -> int:
    """Show a passage, as citations name it."""
    found = chosen.call(contract.SHOW_PASSAGE, passage_id=passage_id)
    return print_view(found, lambda: _print(found))


@app.command(cls=ChangeHereCommand)
def read() -> int:
    """Read the waiting documents in this process, without a worker."""
    ensure_ready("heartbit_site.cli.backend.local", tools=False)
    from memory.actions.ingest_documents import ingest_documents

    parts = ingest_documents(goes_on=lambda: True)
    if output.as_json():
        output.write_json({"parts": parts})
    else:
        output.write(
            f"Read {counted(parts, 'part')} of documents." if parts else "No document waits."
        )
    return errors.OK


def _files(
    paths: list[Path], left_out: dict[str, str], hidden: list[str]
) -> Iterator[tuple[str, Path]]:
    """Yield each file with its name in the base; hidden files of folders are none.

    Args:
        paths: Files, and folders of them.
        left_out: Receives a sentence by name for each folder that cannot be read or is a link, and
            for what is no file.
        hidden: Receives the paths of hidden files and folders.
    """

    def leave_out(error: OSError) -> None:
        left_out[error.filename] = f"{error.filename} cannot be read: {error.strerror or error}."

    for path in paths:
        if not path.is_dir():
            yield path.name, path
            continue
        for folder, folders, names in os.walk(path, onerror=leave_out):
            hidden += [str(Path(folder, one)) for one in (*folders, *names) if one.startswith(".")]
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for link in (Path(folder, name) for name in folders):
                if link.is_symlink():
                    left_out[str(link)] = (
                        f"{link} is a link to a folder, which is not followed: name it as well."
                    )
            for name in sorted(name for name in names if not name.startswith(".")):
                file = Path(folder, name)
                if file.is_symlink() and not file.resolve().is_relative_to(path.resolve()):
                    left_out[str(file)] = (
                        f"{file} is a link out of the folder, which is not followed: name it as "
                        "well."
                    )
                elif file.is_file() or not file.exists():  # a link to nothing is named as well
                    yield file.relative_to(path).as_posix(), file
                else:
                    left_out[str(file)] = f"{file} is not a plain file."


def _encoded(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(contract.MOST_BYTES + 1)
    except OSError as error:
        raise errors.CommandError(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > contract.MOST_BYTES:
        raise errors.CommandError(
            f"{path} is too large: a document has at most {contract.MOST_BYTES:,} bytes. Divide it."
        )
    if not data:
        raise errors.CommandError(f"{path} is empty.")
    return base64.b64encode(data).decode()


def _find(server: Backend, base: str, name: str) -> contract.DocumentOut:
    found = server.every(contract.LIST_DOCUMENTS, base=base)
    for one in found.documents:
        if one.name == name:
            return one
    raise errors.CommandError(
        f"The knowledge base {output.one_line(base)} has no document {output.one_line(name)!r}: "
        f"`heartbit knowledge documents {output.one_line(base)}` lists them."
    )


def _print(found: contract.PassageDetailOut) -> None:
    output.write(f"{output.one_line(found.citation)} (passage {found.position + 1})")
    output.write(f"{found.link}\n")
    output.write(visible(found.text))


def _progress(one: contract.DocumentOut) -> str:
    if one.pages is None:
        return ""
    return f"{one.pages_read:,} of {one.pages:,}" if one.state != "ready" else f"{one.pages:,}"


STYLES: Final = {"ready": "green", "failed": "red", "reading": "cyan", "queued": "dim"}
BASES: Final = Table.of(
    contract.KnowledgeBaseOut,
    "BASE=name DOCUMENTS=document_count PASSAGES=passage_count UNREAD=unread_count "
    "FAILED=failed_count DESCRIPTION=description:300 FOLDER=drive_folder:40",
    none="No knowledge bases yet.",
)
DOCUMENTS: Final = Table.of(
    contract.DocumentOut,
    "DOCUMENT=name:40 KIND STATE PAGES PASSAGES=passage_count PROBLEM=problem:300",
    styles=STYLES,
    none="No documents yet.",
    PAGES=_progress,
)
HITS: Final = Table.of(
    contract.PassageHitOut,
    "ID=passage.id SCORE=score:.2f SOURCE=passage.citation:40 PASSAGE=passage.text:300 WHY",
    none="Nothing fits.",
)
