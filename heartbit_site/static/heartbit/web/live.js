// Live regions (elements with data-live): when the page's pulse names one of their kinds, the page
// is asked for them again and the changes are worked in. A list does not move under a reader's
// eye: while they point at it or have the focus in it, rows come and go only when they ask.

import { el } from "./dom.js";
import { keyOf, morph } from "./morph.js";
import { onPulse } from "./pulse.js";
import { Soon } from "./soon.js";

const AGES_MS = 15000; // "3 s ago" and silent workers change without a notification

const regions = [...document.querySelectorAll("[data-live][id]")];
const rows = new Soon(refresh);
let tag = "1"; // of the last answer

onPulse((_, changed) => {
  if (regions.some((one) => changed.some((kind) => one.dataset.live.split(" ").includes(kind)))) rows.ask();
});
if (regions.length) setInterval(() => document.hidden || rows.ask(), AGES_MS);

/** Ask for the regions of this page again, and show what has changed. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { "Heartbit-Live": tag, "Heartbit-Opened": document.body.dataset.drawn }, credentials: "same-origin", cache: "no-store" });
  if (answer.status === 304 || answer.redirected) return;
  if (!answer.ok) throw new Error(`${answer.status}`); // retried
  tag = answer.headers.get("Heartbit-Tag") ?? "1";
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const region of regions) {
    const now = fresh.getElementById(region.id);
    if (now) show(region, now);
  }
}

function show(region, now) {
  const held = region.querySelector(":scope > .held");
  held?.remove();
  const coming = keys(now).filter((key) => !keys(region).includes(key)).length;
  const going = keys(region).filter((key) => !keys(now).includes(key)).length;
  if (!region.matches(":hover, :focus-within") || !(coming || going)) {
    morph(region, now);
    return;
  }
  const text = coming ? `${coming} new` : "The list has changed";
  const button = el("button.button.held", { type: "button" }, `${text}: show`);
  const reveal = () => {
    button.remove();
    morph(region, now);
  };
  button.addEventListener("click", reveal);
  region.addEventListener("mouseleave", () => button.isConnected && !region.contains(document.activeElement) && reveal(), { once: true });
  region.prepend(button);
}

/** The keys of a region's rows. */
function keys(region) {
  return [...new Set([...region.querySelectorAll("tbody, tr, [data-row]")].map(keyOf))].filter(Boolean);
}
