// Notifications about what waits, if a person has turned them on: from the server, and from a hidden tab.

import { USER, WORKSPACE } from "../api.js";
import { el, fill, icon } from "../dom.js";

const STORED = `heartbit-notify ${USER} ${WORKSPACE}`;
const { worker, notify } = document.getElementById("inbox")?.dataset ?? {};

/** Return a button that turns notifications on and off; null if the browser has none. */
export function notifyButton() {
  if (!("Notification" in window && "serviceWorker" in navigator)) return null;
  const button = el("button.button", { type: "button", onclick: turn });
  say();
  if (isOn()) subscribe(); // the browser may have another address by now
  return button;

  async function turn() {
    if (isOn()) localStorage.removeItem(STORED);
    else if (await Notification.requestPermission() === "granted") localStorage.setItem(STORED, "1");
    say();
    await subscribe();
  }

  /** Have the server notify this browser, or no longer; where that fails, only open tabs do. */
  async function subscribe() {
    try {
      const { pushManager } = await registered();
      const found = isOn() ? await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: await post({}) }) : await pushManager.getSubscription();
      const { endpoint, keys } = found?.toJSON() ?? {};
      if (found) await post({ endpoint, ...(isOn() && keys) });
    } catch ({ message }) {
      say(`Only while a tab is open: ${message}`);
    }
  }

  function say(problem = "") {
    const blocked = Notification.permission === "denied";
    button.setAttribute("aria-pressed", String(isOn()));
    button.disabled = blocked;
    button.title = blocked ? "The browser blocks notifications of this site" : problem;
    fill(button, icon(isOn() ? "notifications_active" : "notifications"), isOn() ? "Notifications are on" : "Notify me");
  }
}

/** Send the server this browser's address and keys; return the server's key. */
async function post(given) {
  const answer = await fetch(notify, { method: "POST", headers: { "X-CSRFToken": document.body.dataset.csrf }, body: new URLSearchParams(given) });
  const said = await answer.text();
  if (!answer.ok) throw new Error(said);
  return said;
}

/** Notify about calls that began to wait while the page is hidden: how many, as the server does. */
export async function tell(count) {
  if (!count || !isOn() || !document.hidden) return;
  const url = location.origin + location.pathname; // the server's notification has this tag too
  (await registered()).showNotification("Heartbit", { body: count === 1 ? "Another waits for you." : `${count} more wait for you.`, tag: url, data: { url } });
}

/** Return the registration of the service worker, which runs by then: phones notify through one alone. */
async function registered() {
  const found = await navigator.serviceWorker.register(worker), coming = found.installing ?? found.waiting;
  if (!found.active) await new Promise((done) => { coming.addEventListener("statechange", () => coming.state === "activated" && done()); });
  return found;
}

function isOn() {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(STORED) === "1";
}
