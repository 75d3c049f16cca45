// Preview of a schedule's next runs while its form is filled in.
"use strict";

(() => {
  const PAUSE_MS = 300;

  function begin() {
    const shown = document.getElementById("hb-preview");
    const form = document.getElementById("schedule_form");
    const place = location.pathname.match(/^(.*\/schedule\/)(?:(\d+)\/change|add)\/$/);
    if (!shown || !form || !place) return;
    const [, list, number] = place;
    let timer = 0;
    let asked = 0;

    async function look() {
      asked += 1;
      const mine = asked;
      const body = new FormData(form);
      for (const [name, value] of [...body]) if (value instanceof File) body.delete(name);
      const answer = await fetch(`${list}preview/${number ? `?schedule=${number}` : ""}`, { method: "POST", body }).catch(() => null);
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
