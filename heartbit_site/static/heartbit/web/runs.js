// The list of runs: the server draws it; here are its filters, the way back, and chosen runs.

import { el } from "./dom.js";
import { ask } from "./run/ask.js";
import { newRun } from "./runs/new-run.js";

const list = document.getElementById("runs");
const filters = document.getElementById("filters");
const bulk = document.getElementById("bulk");
const FOCUS = "heartbit-filter"; // the field that a change of filters came from

document.addEventListener("click", ({ target }) => target.closest("[data-new-run]") && newRun());
if (new URLSearchParams(location.search).has("new")) {
  history.replaceState(null, "", location.pathname);
  if (document.querySelector("[data-new-run]")) newRun();
}

filters.addEventListener("change", ({ target }) => {
  sessionStorage.setItem(FOCUS, target.name);
  filters.requestSubmit();
});
filters.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});
filters.elements[sessionStorage.getItem(FOCUS)]?.focus();
sessionStorage.removeItem(FOCUS);

// Back leads to the same rows, even if new runs have started meanwhile.
list.addEventListener("click", ({ target }) => {
  const { here } = list.querySelector("table")?.dataset ?? {};
  if (here && target.closest("a.run-link")) history.replaceState(null, "", here);
});

const chosen = () => [...list.querySelectorAll("input[name=run]:checked")];
const counted = (runs) => `${runs.length} run${runs.length === 1 ? "" : "s"}`;

list.addEventListener("change", ({ target }) => {
  if (target.id === "all") for (const one of list.querySelectorAll("input[name=run]")) one.checked = target.checked;
  count();
});
new MutationObserver(count).observe(list, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-live-run"] });

/** Offer what can be done with the chosen runs. */
function count() {
  const [cancel, retry] = bulk.children;
  for (const [button, verb, live] of [[cancel, "Cancel", "1"], [retry, "Retry", ""]]) {
    const runs = chosen().filter(({ dataset }) => dataset.liveRun === live);
    button.hidden = runs.length === 0;
    button.textContent = `${verb} ${counted(runs)}`;
  }
  bulk.hidden = chosen().length === 0;
}

bulk.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  event.preventDefault();
  const cancels = button.value === "cancel";
  // The chosen runs that the button counts.
  const runs = chosen().filter(({ dataset }) => dataset.liveRun === (cancels ? "1" : ""));
  const send = async () => {
    for (const one of chosen()) one.checked = runs.includes(one);
    button.form.requestSubmit(button);
  };
  ask({
    title: `${button.textContent}?`, label: cancels ? "Cancel them" : "Retry them", danger: cancels, send,
    body: el("p", {}, cancels ? "They stop with their sub-agents. Their output so far stays." : "Each is started again with its task, on the same version."),
  });
});
count();
