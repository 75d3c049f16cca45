// Parts that the server draws: fetching them, and folding a long answer.

import { WORKSPACE } from "../api.js";

/**
 * Fetch a part of a run's page.
 * @param {string} path Below the address of the workspace's runs.
 * @returns {Promise<string|null>} HTML; empty if the server refuses, null if it does not answer, or is busy.
 */
export async function fetched(path) {
  const answer = await fetch(`/w/${WORKSPACE}/runs/${path}`, { credentials: "same-origin" }).catch(() => null);
  if (!answer || answer.status === 429 || answer.status >= 500) return null;
  return (answer.ok || answer.status === 409) && !answer.redirected ? answer.text() : "";
}

document.addEventListener("click", ({ target }) => {
  const long = target.closest(".all, [data-heading]")?.closest(".long-answer");
  if (!long) return;
  const heading = target.closest("[data-heading]")?.dataset.heading;
  long.classList.toggle("is-whole", heading !== undefined || !long.classList.contains("is-whole"));
  long.querySelector(":scope > .all").textContent = long.classList.contains("is-whole") ? "Show less" : "Show all";
  if (heading !== undefined) long.querySelectorAll(":is(h1, h2, h3)")[heading]?.scrollIntoView({ behavior: "smooth" });
});
