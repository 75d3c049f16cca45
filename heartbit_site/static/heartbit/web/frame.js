// The frame around every page: the badge, the connection, the theme, and menus that close.

import { onConnection, onPulse } from "./pulse.js";

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

document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = now;
  localStorage.setItem("heartbit-theme", now);
});

document.addEventListener("click", ({ target }) => {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
});
