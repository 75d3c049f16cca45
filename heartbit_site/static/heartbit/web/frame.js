// The frame around every page: the badge, the connection, the theme, menus that close, live regions.

import "./keys.js";
import "./live.js";
import { onConnection, onPulse } from "./pulse.js";
import { Prompts } from "./prompts.js";
import { switchTheme } from "./theme-switch.js";

const badge = document.getElementById("waiting");
if (badge) {
  onPulse(({ waiting }) => {
    badge.hidden = waiting === 0;
    badge.textContent = waiting > 99 ? "99+" : waiting;
    badge.setAttribute("aria-label", `${waiting} waiting`);
  });
}

const connection = document.getElementById("connection");
const SAYINGS = {
  live: "",
  reconnecting: "Reconnecting …",
  offline: "Offline: the server does not answer. What you see may be out of date.",
};
onConnection((state) => {
  if (connection.textContent === SAYINGS[state]) return;
  connection.dataset.state = state;
  connection.textContent = SAYINGS[state];
});

document.getElementById("theme").addEventListener("click", switchTheme);

const more = document.getElementById("more"); // on a phone
more.addEventListener("click", () => more.setAttribute("aria-expanded", more.parentElement.toggleAttribute("data-open")));

document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
});

const place = document.getElementById("hb-prompts");
if (place) {
  const prompts = new Prompts(place);
  let isFirst = true;
  onPulse((_, changed) => {
    if (isFirst || changed.includes("calls")) prompts.look.ask();
    isFirst = false;
  });
}
