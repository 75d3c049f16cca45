"""Modules joined into one script, run in a browser's engine by tests/web."""

from __future__ import annotations

import pytest

from heartbit_site.shell.modules import join_modules

SOURCES = {
    "web/page.js": 'import "./frame.js";\nimport { el, fill as put } from "./dom.js";\nput();\n',
    "web/frame.js": 'import { el } from "./dom.js";\nexport const ROOM = el();\n',
    "web/dom.js": "export function el() {}\nexport async function fill() {}\nexport class Box {}\n",
    "web/one.js": 'import { two } from "./two.js";\nexport const one = two;\n',
    "web/two.js": 'import { one } from "./one.js";\nexport const two = one;\n',
    "web/odd.js": "export default 7;\n",
    "web/star.js": 'import * as all from "./dom.js";\n',
}


def test_each_module_is_written_once_after_what_it_needs() -> None:
    script = join_modules(["web/frame.js", "web/page.js"], SOURCES.__getitem__)
    assert script.count("function el()") == 1
    assert script.index("function el()") < script.index("const ROOM") < script.index("put();")
    assert "const { el, fill: put } = m0;" in script.replace("{  ", "{ ").replace("  }", " }")
    assert "get Box() { return Box; }" in script
    assert "export " not in script
    assert "import " not in script


def test_modules_that_need_each_other_are_named() -> None:
    with pytest.raises(ValueError, match=r"web/one.js → web/two.js → web/one.js: the modules imp"):
        join_modules(["web/one.js"], SOURCES.__getitem__)


@pytest.mark.parametrize("name", ["web/odd.js", "web/star.js"])
def test_another_form_of_import_or_export_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: .*: write imports and exports as others do"):
        join_modules([name], SOURCES.__getitem__)
