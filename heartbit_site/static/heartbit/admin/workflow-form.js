// The rows of a workflow's form: added, moved and removed; its drawing and faults while one types.
"use strict";

(() => {
  const PAUSE_MS = 350;
  const LABELS = { agent: "Task", workflow: "Task", tool: "Arguments (JSON)", ask: "Question", set: "Values (JSON)", code: "Code", pause: "Time" };
  const GROUPS = { agent: ["agent", "workflow"], workflow: ["agent", "workflow"], tool: ["tool"], function: ["function"], validator: ["function"] };
  const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;

  function begin() {
    const editor = document.querySelector(".hb-workflow");
    const form = document.getElementById("workflow_form");
    if (!editor || !form) return;
    editor.classList.add("is-scripted");
    const rows = (kind) => [...editor.querySelectorAll(`[data-row^="${kind}-"]`)].filter((row) => !row.closest("template"));
    const live = (kind) => rows(kind).filter((row) => !row.hidden);
    const part = (row, name) => row.querySelector(`[name="${row.dataset.row}-${name}"]`);
    const TICK = editor.querySelector('template[data-empty="steps"]').content.querySelector(".hb-ticks input")?.className;
    let timer = 0;
    let asked = 0;

    function add(kind) {
      const total = form.querySelector(`[name="${kind}-TOTAL_FORMS"]`);
      if (Number(total.value) >= Number(form.querySelector(`[name="${kind}-MAX_NUM_FORMS"]`).value)) return null;
      const html = editor.querySelector(`template[data-empty="${kind}"]`).innerHTML.replaceAll("__prefix__", total.value);
      const list = editor.querySelector(`[data-add="${kind}"]`).parentElement.querySelector(".hb-steps");
      list.insertAdjacentHTML("beforeend", html);
      total.value = Number(total.value) + 1;
      return list.lastElementChild;
    }

    function remove(row, focuses = true) {
      const kind = row.dataset.row.split("-")[0];
      const others = live(kind);
      const next = others[others.indexOf(row) + 1] ?? others[others.indexOf(row) - 1];
      part(row, "remove").checked = true;
      row.hidden = true;
      if (focuses) (next?.querySelector("[data-remove]") ?? editor.querySelector(`[data-add="${kind}"]`)).focus();
    }

    function move(row, by) {
      const others = live(row.dataset.row.split("-")[0]);
      const other = others[others.indexOf(row) + by];
      if (!other) return;
      const focused = document.activeElement;
      if (by < 0) other.before(row);
      else other.after(row);
      focused?.focus(); // moving an element takes its focus
    }

    /** Write what follows from all rows into each: positions, and the steps that others name. */
    function settle() {
      for (const kind of ["steps", "agents"]) rows(kind).forEach((row, index) => { part(row, "position").value = index + 1; });
      const steps = live("steps").map((row, index) => [row.dataset.row.split("-")[1], part(row, "name").value.trim() || `step ${index + 1}`]);
      for (const row of live("steps")) {
        const others = steps.filter(([number]) => number !== row.dataset.row.split("-")[1]);
        tick(row, others);
        choose(part(row, "on_error"), others);
        const does = part(row, "does").value;
        row.dataset.does = does;
        row.querySelector(".hb-of-text > label").textContent = LABELS[does] ?? "Text";
        offer(part(row, "subject"), GROUPS[does] ?? []);
        suggest(row, steps);
        const name = part(row, "name").value.trim() || "step";
        for (const button of row.querySelectorAll("button:has(.hb-away)")) button.setAttribute("aria-label", `${button.querySelector(".hb-away").textContent}: ${name}`);
      }
    }

    function tick(row, others) {
      const place = row.querySelector(".hb-ticks");
      const known = new Map([...place.querySelectorAll("input")].map((box) => [box.value, box.closest("label")]));
      const labels = others.map(([number, name]) => {
        const label = known.get(number) ?? blank(row, number);
        if (label.querySelector("span").textContent !== name) label.querySelector("span").textContent = name;
        return label;
      });
      if (labels.length !== place.children.length || labels.some((label, index) => label !== place.children[index])) place.replaceChildren(...labels);
      row.querySelector(".hb-of-after").hidden = !others.length;
    }

    function blank(row, number) {
      const label = document.createElement("label");
      label.className = "check";
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: `${row.dataset.row}-after`, value: number, className: TICK });
      label.append(box, " ", document.createElement("span"));
      return label;
    }

    /** Offer buttons that write what the row can read: the input, the entry of a list, and steps that have ended. */
    function suggest(row, steps) {
      const ended = new Set();
      const climb = (one) => {
        for (const box of one.querySelectorAll(".hb-ticks input:checked")) {
          const earlier = editor.querySelector(`[data-row="steps-${box.value}"]`);
          if (!earlier || ended.has(box.value)) continue;
          ended.add(box.value);
          climb(earlier);
        }
      };
      climb(row);
      const names = steps.filter(([number]) => ended.has(number)).map(([, name]) => (PLAIN.test(name) ? `steps.${name}.output` : `steps[${JSON.stringify(name)}].output`));
      const paths = ["input", ...(part(row, "each").value.trim() ? ["item"] : []), ...names];
      let place = row.querySelector(".hb-inserts");
      if (place?.dataset.paths === JSON.stringify(paths)) return;
      place ??= row.querySelector(".hb-of-text textarea").insertAdjacentElement("afterend", document.createElement("div"));
      place.className = "hb-inserts quiet";
      place.dataset.paths = JSON.stringify(paths);
      place.replaceChildren("Insert", ...paths.map((path) => Object.assign(document.createElement("button"), { type: "button", textContent: path, value: path })));
    }

    function insert(row, path) {
      const text = part(row, "text");
      text.setRangeText(`{{ ${path} }}`, text.selectionStart, text.selectionEnd, "end");
      text.focus();
    }

    function choose(select, others) {
      const now = select.value;
      const first = [...select.options].slice(0, 2);
      select.replaceChildren(...first, ...others.map(([number, name]) => new Option(`Go to ${name}`, number)));
      select.value = [...select.options].some((one) => one.value === now) ? now : "fail";
    }

    /** Offer only what the kind of work can run. */
    function offer(select, groups) {
      for (const option of select.options) {
        const fits = !option.value || groups.includes(option.value.split(":")[0]);
        option.hidden = option.disabled = !fits;
        if (option.parentElement.matches("optgroup")) option.parentElement.hidden = ![...option.parentElement.children].some((one) => !one.hidden);
      }
      if (select.selectedOptions[0]?.hidden) select.value = "";
    }

    async function draw() {
      asked += 1;
      const mine = asked;
      const body = new URLSearchParams([...new FormData(form)].filter(([, value]) => typeof value === "string"));
      const answer = await fetch(editor.dataset.draw, { method: "POST", body }).catch(() => null);
      if (mine !== asked) return;
      if (!answer?.ok) return say("It could not be drawn just now.", true); // keep the last drawing
      const found = await answer.json();
      if (mine !== asked) return;
      if (found.drawing) editor.querySelector(".hb-drawing").innerHTML = found.drawing; // every text is escaped by the server
      mark(found);
      if (found.text !== null && form.elements.mode.value !== "text") form.elements.text.value = found.text;
      if (found.subjects) subjects(found.subjects);
    }

    function mark(found) {
      for (const list of editor.querySelectorAll(".hb-faults")) list.replaceChildren();
      for (const one of editor.querySelectorAll("[aria-invalid]")) one.removeAttribute("aria-invalid");
      for (const { field, sentences } of found.rows) {
        const place = editor.querySelector(`[data-field="${CSS.escape(field)}"]`) ?? editor.querySelector(`[data-row="${field.replace("-__all__", "")}"] [data-field]`);
        place?.querySelector(".hb-faults").append(...sentences.map(item));
        place?.querySelector("input, select, textarea")?.setAttribute("aria-invalid", "true");
        const details = place?.closest("details");
        if (details) details.open = true;
      }
      editor.querySelector("[data-loose]").replaceChildren(...found.faults.map(item));
      const count = found.rows.reduce((sum, one) => sum + one.sentences.length, found.faults.length);
      say(count ? `${count} ${count === 1 ? "fault" : "faults"}` : "No faults", count > 0);
    }

    function item(sentence) {
      return Object.assign(document.createElement("li"), { textContent: sentence });
    }

    function say(words, isBad) {
      const place = editor.querySelector(".hb-summary");
      if (place.textContent !== words) place.textContent = words;
      place.classList.toggle("is-bad", isBad);
    }

    /** Offer the names of the chosen workspace. */
    function subjects(groups) {
      const known = JSON.stringify(groups);
      if (editor.dataset.subjects === known) return;
      editor.dataset.subjects = known;
      for (const select of editor.querySelectorAll('select[name$="-subject"], select[name^="agents-"]')) {
        const now = select.value;
        const isAgents = select.name.startsWith("agents-");
        select.replaceChildren(...groups.filter(([label]) => !isAgents || ["", "Agents", "Workflows"].includes(label)).map(([label, options]) => {
          if (!Array.isArray(options)) return new Option(options, label);
          const group = Object.assign(document.createElement("optgroup"), { label });
          group.append(...options.map(([value, text]) => new Option(text, value)));
          return group;
        }));
        select.value = now;
      }
      settle();
    }

    function soon() {
      settle();
      clearTimeout(timer);
      timer = setTimeout(draw, PAUSE_MS);
    }

    editor.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      const row = button?.closest("[data-row]");
      if (!button) return;
      if (button.dataset.add) add(button.dataset.add)?.querySelector("input, select").focus();
      else if (button.value) insert(row, button.value);
      else if (button.dataset.move) move(row, Number(button.dataset.move));
      else if ("remove" in button.dataset) remove(row);
      soon();
    });
    editor.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      const row = event.target.closest("[data-row]");
      if (!by || !event.altKey || !row) return;
      event.preventDefault();
      move(row, by);
      soon();
    });
    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
    const [empty, ...others] = rows("steps").reverse();
    if (others.length && !part(empty, "name").value) remove(empty, false); // for pages without scripts
    settle();
    if (editor.dataset.draw.includes("?")) draw(); // a new one has only what is still missing
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
