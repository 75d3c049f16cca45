// The next runs of a schedule, shown while its form is filled.
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
      if (!answer?.ok || mine !== asked) return; // what is shown stays
      shown.innerHTML = await answer.text(); // HTML, in which the server has escaped every text
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
