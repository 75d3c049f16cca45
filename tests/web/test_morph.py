"""A page that updates itself keeps what a person typed, and no value of another element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.shell.assets import OWN

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MORPH: Final = (OWN / "web" / "morph.js").read_text().replace("export ", "")
UPDATE: Final = """(html) => {
  const made = document.createElement("template");
  made.innerHTML = html;
  window.morph(document.querySelector("form"), made.content.firstChild);
}"""
VALUES: Final = "(all) => all.map((one) => `${one.name}: ${[...one].map((it) => it.value)}`)"


def select(name: str, *values: str) -> str:
    options = "".join(f'<option value="{one}">{one}</option>' for one in values)
    return f'<select name="{name}">{options}</select>'


def test_given_a_select_less_when_updated_then_each_has_its_own_choices(browser: Browser) -> None:
    kinds = select("kind", "calls", "questions")
    before = [select("tool", "Budget", "ask"), select("agent", "clerk", "spender"), kinds]
    page = browser.new_page()
    page.set_content(f"<form><input name='q'>{''.join(before)}</form>")
    page.fill("input", "typed")
    page.evaluate("(script) => (0, eval)(`${script};window.morph = morph`)", MORPH)
    page.evaluate(UPDATE, f"<form><input name='q'>{select('tool', 'ask')}{kinds}</form>")
    found = page.locator("select").evaluate_all(VALUES)
    assert (found, page.input_value("input")) == (["tool: ask", "kind: calls,questions"], "typed")
    page.close()
