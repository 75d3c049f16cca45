// Fields instead of JSON text: a textarea with data-schema is rendered as a form.

import { el } from "../web/dom.js";
import { FormProblem, schemaForm } from "../web/forms/schema-form.js";

const drawn = new WeakMap(); // textarea: its form and the element for problems

document.addEventListener("htmx:load", ({ target }) => {
  for (const text of target.querySelectorAll("textarea[data-schema]")) draw(text);
});
document.addEventListener("htmx:configRequest", (event) => {
  for (const text of event.target.querySelectorAll("textarea[data-schema]")) fillIn(text, event);
});

function draw(text) {
  const schema = JSON.parse(text.dataset.schema);
  let before;
  try {
    before = text.value.trim() ? JSON.parse(text.value) : undefined;
  } catch {
    return; // invalid JSON: the person corrects the text itself
  }
  const form = schemaForm(schema, before, "Arguments");
  const problem = el("p.problem", { role: "alert", hidden: true });
  dress(form.element, text);
  new MutationObserver(() => dress(form.element, text)).observe(form.element, { childList: true, subtree: true });
  text.hidden = true;
  text.after(el("div.hb-schema-form", {}, form.element, problem));
  drawn.set(text, { form, problem });
}

/** Submit the values of the fields, unless one of them is invalid. */
function fillIn(text, event) {
  const { form, problem } = drawn.get(text) ?? {};
  if (!form) return;
  problem.hidden = true;
  try {
    event.detail.parameters[text.name] = JSON.stringify(form.read() ?? {});
  } catch (error) {
    if (!(error instanceof FormProblem)) throw error;
    problem.textContent = error.message;
    problem.hidden = false;
    event.preventDefault();
  }
}

/** Give the fields the theme's classes, like those of the other fields. */
function dress(element, text) {
  const select = text.form.querySelector("select")?.className ?? "";
  for (const one of element.querySelectorAll("input, select, textarea")) {
    one.className = one.matches("select") ? select : one.matches(".code, .hb-json") ? text.className : text.className.replace("hb-json", "");
  }
}
