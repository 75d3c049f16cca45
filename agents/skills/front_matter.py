"""``SKILL.md``: YAML front matter and a Markdown body, read and written. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NoReturn

import yaml

from agents.definitions import validation_messages
from agents.skills.spec import FRONT_MATTER, MAIN_FILE, InvalidSkillError, SkillSpec

_MAX_FRONT_MATTER: Final = 20_000
_DEEPEST: Final = 20
_LONGEST_NUMBER: Final = 60
_LINE: Final = "---"
#: What PyYAML's constructors raise for a value that its tag does not fit, such as !!bool maybe.
_MISFITS: Final = (KeyError, IndexError, AttributeError, TypeError, OverflowError)
_TOOL: Final = re.compile(r"([^\s,()]+)(?:\([^)]*\)?)?")
#: Heartbit's names of tools that other products' skills ask for.
_ALIASES: Final = {
    "Bash": "shell",
    "Edit": "edit",
    "Glob": "glob",
    "Grep": "grep",
    "Read": "read",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Write": "write",
}


class _Loader(yaml.SafeLoader):
    """YAML's safe loader within limits.

    Without aliases, since a few lines of them can stand for gigabytes; not nested deeply; and
    without long numbers, which Python refuses to write as text.
    """

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it uses an alias (*name), which is not accepted")
        if self._depth >= _DEEPEST:
            raise yaml.YAMLError(f"it is nested deeper than {_DEEPEST} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002  PyYAML's
        number = node.tag.endswith((":int", ":float"))
        if number and isinstance(node, yaml.ScalarNode) and len(node.value) > _LONGEST_NUMBER:
            raise yaml.YAMLError(
                f"it has a number of more than {_LONGEST_NUMBER} characters: put it in quotes"
            )
        return super().construct_object(node, deep)


class _Dumper(yaml.SafeDumper):
    """YAML's safe dumper without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def parse(text: str) -> SkillSpec:
    """Return the skill that a ``SKILL.md`` describes.

    Raises:
        InvalidSkillError: Names each fault of the front matter or the body.
    """
    return read(text)[0]


def read(text: str) -> tuple[SkillSpec, str]:
    """Return the skill that a ``SKILL.md`` describes, and the note of ``checked``.

    Raises:
        InvalidSkillError: Names each fault of the front matter or the body.
    """
    head, body = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    table: dict[str, Any] = {str(key): _stripped(value) for key, value in _table(head).items()}
    if "body" in table:
        raise InvalidSkillError([f"{MAIN_FILE}: body is no key: write it below the front matter."])
    if isinstance(table.get("metadata"), dict):
        table["metadata"] = {str(key): _text(each) for key, each in table["metadata"].items()}
    return checked(table, body, MAIN_FILE)


def checked(
    table: Mapping[str, Any], body: str, file: str, *, tools_key: str = ""
) -> tuple[SkillSpec, str]:
    """Return the skill of the keys and the instructions that were read from a file.

    Keys of other products, such as ``argument-hint``, are kept as metadata. The note is a sentence
    that names them; empty: there are none.

    Args:
        table: The keys.
        body: The instructions.
        file: Name of the file, for sentences.
        tools_key: The file's own key of the tools; empty: ``allowed-tools``.

    Raises:
        InvalidSkillError: Names each setting that cannot be used.
    """
    settings: dict[str, Any] = {"body": body}
    further: dict[str, str] = {}
    for key, value in table.items():
        if (name := key.replace("-", "_")) in SkillSpec.model_fields:
            settings |= {} if value is None else {name: value}
        elif value is not None:
            further[key] = _further_text(value)
    if "allowed_tools" in settings:
        settings["allowed_tools"] = tool_names(settings["allowed_tools"])
    metadata = settings.get("metadata", {})
    if further and isinstance(metadata, dict):
        if doubled := sorted(further.keys() & metadata.keys()):
            raise InvalidSkillError(
                [f"{file}: {doubled[0]} is also under metadata: leave one of them out."]
            )
        settings["metadata"] = metadata | further
    found = []
    for path, message in validation_messages.check(SkillSpec, settings, ()):
        name = str(path[0])
        key = tools_key if tools_key and name == "allowed_tools" else _key(name)
        sentence = validation_messages.sentence_of((key, *path[1:]), message)
        found.append(f"{file}: {sentence}")
    if found:
        raise InvalidSkillError(found)
    return SkillSpec.model_validate(settings), _note(sorted(further), file)


def _note(keys: Sequence[str], file: str) -> str:
    """Return a sentence on keys of other products; empty: there are none."""
    if not keys:
        return ""
    known = ", ".join(map(_key, FRONT_MATTER))
    return (
        f"{file}: kept as metadata, without an effect here: {', '.join(keys)} (the settings of "
        f"skills are {known})."
    )


def _further_text(value: object) -> str:
    """Return the value of a further key as text, which metadata are."""
    text = _text(value)
    return text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)


def tool_names(value: object) -> object:
    """Return the names of tools in ``allowed-tools``: words with commas or spaces, or a list.

    What stands in brackets behind a name, as in ``Bash(git:*)``, narrows the tool elsewhere; here
    an agent's own settings do that.
    """
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = " ".join(value)
    if not isinstance(value, str):
        return value
    names = [_ALIASES.get(name, name) for name in _TOOL.findall(value)]
    return list(dict.fromkeys(names))


def decode(files: Mapping[str, bytes], path: str) -> str:
    """Return the text of a file.

    Raises:
        InvalidSkillError: It is no UTF-8.
    """
    try:
        return files[path].decode()
    except UnicodeDecodeError:
        raise InvalidSkillError([f"{path} is no UTF-8 text: save it as UTF-8."]) from None


def compose(spec: SkillSpec) -> str:
    """Return the ``SKILL.md`` of a skill; reading it gives the skill again."""
    table: dict[str, Any] = {
        _key(name): value
        for name, value in spec.model_dump(include=set(FRONT_MATTER)).items()
        if value not in ("", {}, [])
    }
    if spec.allowed_tools:
        table["allowed-tools"] = " ".join(spec.allowed_tools)
    head = yaml.dump(table, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return f"{_LINE}\n{head}{_LINE}\n\n{spec.body}\n"


def _split(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != _LINE:
        _refuse("begins with no front matter: its first line has to be ---, then name and")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == _LINE), None)
    if end is None:
        _refuse("has front matter without an end: close it with a line ---, after name and")
    head = "\n".join(lines[1:end])
    if len(head) > _MAX_FRONT_MATTER:
        _refuse(f"has more than {_MAX_FRONT_MATTER} characters of front matter: shorten the")
    return head, "\n".join(lines[end + 1 :]).strip()


def _refuse(message: str) -> NoReturn:
    raise InvalidSkillError([f"{MAIN_FILE} {message} description."])


def _table(head: str) -> dict[Any, Any]:
    try:
        table = yaml.load(head, _Loader)  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 2}" if mark is not None else ""
        raise InvalidSkillError(
            [
                f"{MAIN_FILE}{line}: the front matter is no YAML ({error.problem}): put texts with "
                "a colon or a # in quotes."
            ]
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise InvalidSkillError(
            [f"{MAIN_FILE}: the front matter cannot be read ({reason}): write keys and texts."]
        ) from None
    except _MISFITS as error:
        reason = f"a value does not fit its type, {error}".rstrip(".")
        raise InvalidSkillError(
            [f"{MAIN_FILE}: the front matter cannot be read ({reason}): write keys and texts."]
        ) from None
    if not isinstance(table, dict):
        raise InvalidSkillError(
            [f"{MAIN_FILE}: the front matter is no table: write lines such as name: my-skill."]
        )
    return table


def _key(setting: str) -> str:
    return setting.replace("_", "-")


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _text(value: object) -> object:
    """Return a plain value of YAML as text, which metadata are."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | date) else value
