// The runs of the tree, each with its time; the steps of the selected run below it.

import { el, fill, icon } from "../dom.js";
import { cost, duration, shortTokens, tokens } from "../words.js";
import { merged, spansUntil } from "./spans.js";
import { axis, bars, legend, sumsOf } from "./waterfall.js";
import { Windowed } from "./windowed.js";

const ROW = 34;
const ROW_OF_TWO_LINES = 54; // with tokens and cost below the name
const NARROW = matchMedia("(max-width: 900px)");
const ICONS = {
  queued: "schedule", running: "play_circle", waiting: "pause_circle", succeeded: "check_circle",
  failed: "error", cancelled: "cancel", quarantined: "dangerous",
};

/** Card of the tree. */
export class Tree {
  /** @param {{address: (id: string) => string, turn: (number: number) => void}} how */
  constructor({ address, turn }) {
    this.address = address;
    this.turn = turn;
    this.steps = null; // until chosen: steps are shown for a run without others
    this.revealed = "";
    this.list = new Windowed({ height: ROW, label: "Runs and steps", make: (item) => this.view(item) });
    this.switch = el("button.button.small", { type: "button", onClick: () => this.flip() }, "Steps");
    this.legend = el("div");
    this.scale = el("div.scale");
    this.title = el("h2", {}, "Timeline");
    this.element = el("section.card.timeline", { "aria-label": "Timeline" },
      el("header", {}, this.title, el("div.actions", {}, this.switch)),
      el("div.inside", {}, this.legend, this.scale, this.list.element));
    this.fit();
    NARROW.addEventListener("change", () => this.fit());
  }

  /** Choose rows of one line or of two, depending on the width. */
  fit() {
    this.list.height = NARROW.matches ? ROW_OF_TWO_LINES : ROW;
    this.element.toggleAttribute("data-narrow", NARROW.matches);
    this.redraw();
  }

  /** Show the current tree. */
  draw(store, root, chosen, now) {
    this.last = [store, root, chosen, now];
    const rows = store.rows(root);
    const withSteps = this.steps ?? rows.length === 1;
    const begin = Math.min(...rows.map(({ run }) => run.began ?? now));
    const end = Math.max(...rows.map(({ run }) => run.ended ?? now));
    const scale = { begin, whole: Math.max(1, end - begin) };
    const items = [];
    const kinds = new Set();
    const nodes = nodesOf(rows);
    let at = 0;
    for (const { run, depth } of rows) {
      const steps = spansUntil(run, now);
      const spans = merged(steps);
      for (const { kind } of spans) kinds.add(kind);
      if (run.id === chosen) at = items.length;
      const name = nodes.has(run.id) ? `${nodes.get(run.id)} · ${run.agent}` : run.agent;
      items.push({ key: run.id, run, name, depth, spans, scale, current: run.id === chosen, total: store.total(run.id) });
      if (run.id === chosen) this.sums = sumsOf(spans);
      if (withSteps && run.id === chosen) items.push(...stepsOf(run, steps, depth + 1, scale));
    }
    this.title.textContent = rows.length > 1 ? `Timeline of ${rows.length} runs` : "Timeline";
    this.switch.setAttribute("aria-pressed", String(withSteps));
    fill(this.legend, legend(kinds, this.sums ?? new Map()));
    fill(this.scale, axis(scale), el("span.number", {}, "Time"), el("span.number.used", {}, "Tokens"), el("span.number.spent", {}, "Cost"));
    this.list.show(items);
    if (this.revealed !== chosen) {
      this.revealed = chosen;
      this.list.reveal(at);
    }
  }

  flip() {
    this.steps = this.switch.getAttribute("aria-pressed") !== "true";
    this.switch.setAttribute("aria-pressed", String(this.steps));
    this.redraw();
  }

  /** Show the tree again, if it was shown before. */
  redraw() {
    if (this.last) this.draw(...this.last);
  }

  view(item) {
    return item.run ? this.runRow(item) : this.stepRow(item);
  }

  runRow(item) {
    const sign = icon(ICONS[item.run.status]);
    const name = el("span.clip.strong");
    const track = el("span.track");
    const took = el("span.number.quiet");
    const used = el("span.number.quiet.used");
    const spent = el("span.number.quiet.spent");
    const who = el("span.who", {}, sign, name);
    const row = el("a.line", { href: this.address(item.run.id) }, who, track, took, used, spent);
    const update = ({ run, name: called, depth, spans, scale, current, total }) => {
      sign.textContent = ICONS[run.status];
      sign.className = `icon small is-${run.status}`;
      name.textContent = called;
      const figures = `${tokens(total.input, total.output)}, cost ${cost(total.cost)}${total.runs > 1 ? ", with sub-agents" : ""}`;
      row.title = `${called}, ${run.status}: ${figures}\n${run.task.slice(0, 200)}`;
      row.setAttribute("aria-label", `${called}, ${run.status}, ${figures}`);
      row.toggleAttribute("data-current", current);
      if (current) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      indent(row, depth, 0);
      bars(track, spans, scale);
      took.textContent = duration(spans.length ? Math.max(...spans.map(({ to }) => to)) - run.began : 0);
      used.textContent = shortTokens(total.input, total.output);
      spent.textContent = cost(total.cost);
    };
    update(item);
    return { element: row, update };
  }

  stepRow(item) {
    const name = el("span.clip");
    const track = el("span.track");
    const took = el("span.number.quiet");
    const used = el("span.number.quiet.used");
    const spent = el("span.number.quiet.spent");
    const who = el("span.who", {}, name);
    const row = el("button.line.step", { type: "button", onClick: () => this.turn(row.dataset.turn) }, who, track, took, used, spent);
    const update = ({ name: said, depth, span, scale }) => {
      name.textContent = said;
      row.dataset.turn = span.turn?.number ?? span.call?.turn ?? "";
      indent(row, depth, 20);
      bars(track, [span], scale);
      took.textContent = duration(span.to - span.from);
      used.textContent = span.turn ? shortTokens(span.turn.input, span.turn.output) : "";
      spent.textContent = span.turn ? cost(span.turn.cost) : "";
    };
    update(item);
    return { element: row, update };
  }
}

/** Return the nodes of workflows that runs were started for, by run. */
function nodesOf(rows) {
  const calls = rows.filter(({ run }) => run.kind === "workflow").flatMap(({ run }) => [...run.calls.values()]);
  return new Map(calls.flatMap(({ children, tool }) => children.map((id) => [id, tool])));
}

/** Return the indentation of a row by its depth, plus some pixels. */
function indent(row, depth, more) {
  row.style.setProperty("--in", `${Math.min(depth, 8) * 16 + more}px`);
}

function stepsOf(run, spans, depth, scale) {
  return [...spans].sort((one, other) => one.from - other.from).map((span, index) => ({
    key: `${run.id} ${index}`, span, depth, scale, name: nameOf(span),
  }));
}

function nameOf(span) {
  const tool = span.call?.tool || "a tool";
  return {
    queue: "queue", pause: "pause", tool: span.now ? "tools" : tool, person: `approval of ${tool}`, agents: tool,
    model: span.turn ? `turn ${span.turn.number}` : span.name ?? "model",
  }[span.kind];
}
