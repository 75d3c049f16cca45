// The frame around every page: the badge, the theme, and menus that close.

import { onPulse } from "./pulse.js";

const badge = document.getElementById("waiting");
if (badge) {
  onPulse(({ waiting }) => {
    badge.hidden = waiting === 0;
    badge.textContent = waiting > 99 ? "99+" : waiting;
    badge.setAttribute("aria-label", `${waiting} waiting`);
  });
}

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
