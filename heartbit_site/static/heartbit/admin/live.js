// Live updates of every admin page: a socket announces changes, and the page
// fetches its content again: the prompts with the badge, and its rows (elements with data-live).

import { keep } from "../web/socket.js";
import { morph } from "./morph.js";
import { Prompts } from "./prompts.js";
import { Soon } from "./soon.js";

const KINDS = ["runs", "calls", "fleet", "knowledge"];
const AGES_MS = 15000; // "3 s ago" and silent workers change without a notification

const place = document.getElementById("hb-prompts");
const regions = [...document.querySelectorAll("[data-live][id]")];
const prompts = new Prompts(place);
const rows = new Soon(refresh);
let before = null;

keep(`/ws/?drawn=${place.dataset.drawn}`, {
  told(pulse) {
    const changed = KINDS.filter((kind) => pulse[kind] !== before?.[kind]);
    const drawn = (before === null && pulse.unchanged) || []; // the rows already show this state
    before = pulse;
    if (changed.includes("calls")) prompts.look.ask();
    const news = changed.filter((kind) => !drawn.includes(kind));
    if (regions.some((one) => news.some((kind) => one.dataset.live.split(" ").includes(kind)))) rows.ask();
  },
  state(what) {
    if (what !== "live") before = null; // treat the next pulse as a change: some may have been missed
  },
});

if (regions.length) setInterval(() => document.hidden || rows.ask(), AGES_MS);

/** Fetch this page again and apply the changes in its live parts. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { "Heartbit-Live": "1" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${answer.status}`); // retried
  if (answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const region of regions) {
    const now = fresh.getElementById(region.id);
    if (now) morph(region, now);
  }
}
