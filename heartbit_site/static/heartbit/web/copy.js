// Buttons that copy: a text of their own (data-copy), or the code before them.

import { note } from "./dom.js";

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy], .copy");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy ?? button.previousElementSibling.textContent);
  note("Copied.", "success");
});
