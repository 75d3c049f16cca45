// The passages that a search of knowledge bases found, each a link to the page that shows it.

import { seen } from "../approvals/pieces.js";
import { el } from "../dom.js";

const TOOL = "search_knowledge";
// Only ever a passage of this workspace: a result is a text that anything may have written.
const LINK = /\/passages\/(\d+)\/$/;

/** A list of sources below a call of the tool; null: it has none. */
export function sources(call) {
  const found = call.tool === TOOL && call.status === "ok" ? passagesIn(call.result) : [];
  if (!found.length) return null;
  const { workspace } = document.body.dataset;
  return [el("h3", {}, "Sources"), el("ol.sources", {}, found.map(({ citation, number }) =>
    el("li", {}, el("a", { href: `/w/${workspace}/passages/${number}/` }, seen(citation)))))];
}

function passagesIn(result) {
  try {
    const { passages } = JSON.parse(result);
    return passages.map(({ citation, link }) => ({ citation: String(citation), number: LINK.exec(link)?.[1] }))
      .filter(({ number }) => number);
  } catch {
    return []; // cut, because it was too long, or no result of the tool
  }
}
