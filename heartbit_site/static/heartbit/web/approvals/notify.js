// Browser notifications about newly waiting calls, if a person has turned them on.

import { el, fill, icon } from "../dom.js";

const STORED = "heartbit-notify";

/** Return a button that turns notifications on and off; null if the browser has none. */
export function notifyButton() {
  if (!("Notification" in window && "serviceWorker" in navigator)) return null;
  const button = el("button.button", { type: "button", onclick: turn });
  say();
  return button;

  async function turn() {
    if (isOn()) localStorage.removeItem(STORED);
    else if (await Notification.requestPermission() === "granted") localStorage.setItem(STORED, "1");
    say();
  }

  function say() {
    const blocked = Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(isOn()));
    button.disabled = blocked;
    button.title = blocked ? "The browser blocks notifications of this site" : "";
    fill(button, icon(isOn() ? "notifications_active" : "notifications"), isOn() ? "Notifications are on" : "Notify me");
  }
}

/** Notify about calls that began to wait while the page is hidden. */
export function tell(calls) {
  if (!calls.length || !isOn() || !document.hidden) return;
  const [first, ...more] = calls;
  const body = `${first.agent}: ${first.summary || first.tool}${more.length ? ` and ${more.length} more` : ""}`;
  show("A call waits for you", { body, tag: "heartbit-inbox", data: { url: location.origin + location.pathname } });
}

/** Show it through a service worker: phones know no other way. */
async function show(title, options) {
  (await navigator.serviceWorker.register(document.getElementById("inbox").dataset.worker)).showNotification(title, options);
}

function isOn() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(STORED) === "1";
}
