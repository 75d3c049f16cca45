// Preview of a form while it is filled in, from the address in the region's `data-preview`.
"use strict";

(() => {
  const PAUSE_MS = 300;

  function begin() {
    const shown = document.querySelector("form [data-preview]");
    if (!shown) return;
    const form = shown.closest("form");
    let timer = 0;
    let asked = 0;

    async function look() {
      asked += 1;
      const mine = asked;
      const body = new FormData(form);
      for (const [name, value] of [...body]) if (value instanceof File) body.delete(name);
      const answer = await fetch(shown.dataset.preview, { method: "POST", body }).catch(() => null);
      if (!answer?.ok || mine !== asked) return; // keep the last preview
      shown.innerHTML = await answer.text(); // HTML with every text escaped by the server
    }

    function soon() {
      clearTimeout(timer);
      timer = setTimeout(look, PAUSE_MS);
    }

    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
