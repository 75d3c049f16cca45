"""One script of many: JavaScript modules joined in the order in which they need each other.

The modules stay as they are written; each becomes a function's body, and its exports an object::

    const m2 = (() => { const { el } = m1; ...; return { get api() { return api; } }; })();

They may import names with ``import { a, b } from "./x.js"`` (or nothing) and export declarations,
each at the beginning of a line; anything else is an error. A bundler of node's world would need
node wherever Heartbit is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from posixpath import dirname, join, normpath

_IMPORT = re.compile(r'^import (?:\{([^}\n]*)\} from )?"(\.{1,2}/[^"\n]+)";[^\n]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def join_modules(entries: list[str], read: Callable[[str], str]) -> str:
    """Return a script that runs modules and all that they import, each once.

    Args:
        entries: Names of the modules, e.g. ``web/run.js``.
        read: Returns a module's source.

    Raises:
        ValueError: Two modules import each other, or one has an import or export of another form.
    """
    written: dict[str, str] = {}
    opened: list[str] = []

    def add(name: str) -> str:
        if name in written:
            return written[name]
        if name in opened:
            raise ValueError(f"{' → '.join([*opened, name])}: the modules import each other.")
        opened.append(name)
        body = _IMPORT.sub(lambda found: _imported(found, name), read(name))
        exported = [found.group(1) for found in _EXPORT.finditer(body)]
        body = _EXPORT.sub("", body)
        if other := _OTHER.search(body):
            raise ValueError(f"{name}: {other.group()}: write imports and exports as others do.")
        opened.pop()
        variable = f"m{len(written)}"
        given = " ".join(f"get {one}() {{ return {one}; }}," for one in exported)
        parts.append(f"const {variable} = (() => {{\n{body}\nreturn {{ {given} }};\n}})();\n")
        written[name] = variable
        return variable

    def _imported(found: re.Match[str], name: str) -> str:
        variable = add(normpath(join(dirname(name), found.group(2))))
        names = (found.group(1) or "").replace(" as ", ": ")
        return f"const {{ {names} }} = {variable};"

    parts: list[str] = []
    for entry in entries:
        add(entry)
    return "".join(parts)
