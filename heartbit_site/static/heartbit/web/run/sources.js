// Passages found by a search of knowledge bases, each linked to its page.

import { seen } from "../approvals/pieces.js";
import { el } from "../dom.js";

const TOOL = "search_knowledge";
// Links lead only to passages of this workspace, because a result may contain any text.
const LINK = /\/passages\/(\d+)\/$/;

/** Return the list of sources below a call of the tool; null without sources. */
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
    return []; // cut because of its length, or not a result of the tool
  }
}
