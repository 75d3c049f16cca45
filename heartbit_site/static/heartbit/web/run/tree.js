// The runs of the tree, each with its time; the steps of the selected run below it.

import { el, fill, icon } from "../dom.js";
import { cost, duration, shortTokens, tokens } from "../words.js";
import { merged, spansUntil } from "./spans.js";
import { Scale, zoomed } from "./scale.js";
import { axis, bars, legend, sumsOf, told } from "./waterfall.js";
import { Windowed } from "./windowed.js";

const ROW = 34;
const ROW_OF_LINES = 62; // with the bar, tokens and cost below the name
const NARROW_PX = 620;
const ICONS = {
  queued: "schedule", running: "play_circle", waiting: "pause_circle", succeeded: "check_circle",
  failed: "error", cancelled: "cancel", quarantined: "dangerous", person: "back_hand", agents: "account_tree", others: "hourglass_top",
};
const FIT = [0, 1];
const STEP = 1.6; // of a zoom
const KEYS = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 0, ArrowLeft: -1, ArrowRight: 1 };

/** Card of the tree. */
export class Tree {
  /** @param {{address: (id: string) => string, turn: (number: number) => void}} how */
  constructor({ address, turn }) {
    this.address = address;
    this.turn = turn;
    this.steps = null; // until chosen: steps are shown for a run without others
    this.revealed = "";
    this.list = new Windowed({ height: ROW, label: "Runs and steps", make: (item) => this.view(item) });
    this.switch = el("button.iconic", { type: "button", title: "Steps", "aria-label": "Steps", onClick: () => this.flip() }, icon("format_list_bulleted"));
    this.legend = el("div");
    this.scale = el("div.scale");
    this.shown = FIT;
    this.count = el("span.quiet.number");
    const zoom = (sign, name, key) => el("button.iconic", { type: "button", title: `${name} (${key})`, "aria-label": name, onClick: () => this.press(key) }, icon(sign));
    this.element = el("section.card.timeline", { "aria-label": "Timeline" },
      el("header", {}, el("h2", {}, "Timeline"), this.count, el("div.actions", {}, zoom("zoom_out", "Zoom out", "-"), zoom("zoom_in", "Zoom in", "+"), zoom("fit_width", "Show all of it", "0"), this.switch)),
      el("div.inside", {}, this.legend, this.scale, this.list.element));
    new ResizeObserver(() => this.fit()).observe(this.element);
    this.list.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element.addEventListener("keydown", (event) => {
      if (event.key in KEYS && !event.ctrlKey && !event.metaKey) this.press(event.key, event);
    });
  }

  /** Choose rows of one line or of several, depending on the width. */
  fit() {
    const isNarrow = this.element.clientWidth < NARROW_PX;
    if (this.element.hasAttribute("data-narrow") === isNarrow) return;
    this.list.height = isNarrow ? ROW_OF_LINES : ROW;
    this.element.toggleAttribute("data-narrow", isNarrow);
    this.redraw();
  }

  /** Zoom with + and -, show all with 0, and move with the arrows. */
  press(key, event) {
    const step = KEYS[key];
    const [low, high] = this.shown;
    if (Math.abs(step) === 1) this.move((step * (high - low)) / 4);
    else this.look(step ? zoomed(this.shown, step, (low + high) / 2) : FIT);
    event?.preventDefault();
  }

  /** Zoom with Ctrl and the wheel, and move with the wheel sideways. */
  wheel(event) {
    const [low, high] = this.shown;
    if (event.ctrlKey) {
      const { left, width } = (event.target.closest(".track") ?? this.scale.firstChild).getBoundingClientRect();
      const about = low + Math.min(1, Math.max(0, (event.clientX - left) / width)) * (high - low);
      this.look(zoomed(this.shown, event.deltaY < 0 ? STEP : 1 / STEP, about));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && high - low < 1) this.move((event.deltaX / 600) * (high - low));
    else return;
    event.preventDefault();
  }

  move(by) {
    const [low, high] = this.shown;
    const first = Math.min(1 - (high - low), Math.max(0, low + by));
    this.look([first, first + high - low]);
  }

  look(view) {
    this.shown = view;
    this.redraw();
  }

  /** Show the current tree. */
  draw(store, root, chosen, now) {
    this.last = [store, root, chosen, now];
    const rows = store.rows(root);
    const withSteps = this.steps ?? rows.length === 1;
    const begin = Math.min(...rows.map(({ run }) => run.began ?? now));
    const end = Math.max(...rows.map(({ run }) => run.ended ?? now));
    const times = new Map(rows.map(({ run }) => [run.id, spansUntil(run, now)]));
    const scale = new Scale([...times.values()].flat(), begin, end, this.shown);
    const items = [];
    const kinds = new Set();
    const nodes = nodesOf(rows);
    let at = 0;
    for (const { run, depth } of rows) {
      const steps = times.get(run.id);
      const spans = merged(steps);
      for (const { kind } of spans) kinds.add(kind);
      if (run.id === chosen) at = items.length;
      const name = nodes.has(run.id) ? `${nodes.get(run.id)} · ${run.agent}` : run.agent;
      items.push({ key: run.id, run, name, depth, spans, scale, current: run.id === chosen, total: store.total(run.id) });
      if (run.id === chosen) this.sums = sumsOf(spans);
      if (withSteps && run.id === chosen) items.push(...stepsOf(run, steps, depth + 1, scale));
    }
    this.count.textContent = rows.length > 1 ? `${rows.length} runs` : "";
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
    const status = el("span.unseen");
    const [took, used, spent] = figures();
    const who = el("span.who", {}, sign, name, status);
    const row = el("a.line", { href: this.address(item.run.id) }, who, track, took, used, spent);
    const update = ({ run, name: called, depth, spans, scale, current, total }) => {
      const state = (run.status === "waiting" && run.waiting) || run.status;
      sign.textContent = ICONS[state];
      sign.className = `icon small is-${state}`;
      name.textContent = called;
      status.textContent = run.status;
      row.title = `${called}, ${run.status}: ${tokens(total.input, total.output)}, cost ${cost(total.cost)}${total.runs > 1 ? ", with sub-agents" : ""}\n${run.task.slice(0, 200)}`;
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
    const [took, used, spent] = figures();
    const who = el("span.who", {}, name);
    const row = el("button.line.step", { type: "button", onClick: () => this.turn(row.dataset.turn) }, who, track, took, used, spent);
    const update = ({ name: said, depth, span, scale }) => {
      name.textContent = said;
      row.dataset.turn = span.turn?.number ?? span.call?.turn ?? "";
      indent(row, depth, 20);
      bars(track, [span], scale);
      row.title = told(span);
      took.textContent = duration(span.to - span.from);
      used.textContent = span.turn ? shortTokens(span.turn.input, span.turn.output) : "";
      spent.textContent = span.turn ? cost(span.turn.cost) : "";
    };
    update(item);
    return { element: row, update };
  }
}

/** Return the places of a row's time, tokens and cost. */
const figures = () => ["", ".used", ".spent"].map((kind) => el(`span.number.quiet${kind}`));

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
    queue: "queue", pause: "pause", tool: span.now ? "tools" : tool, person: span.name ?? `approval of ${tool}`, agents: tool,
    lost: span.why, model: span.turn ? `turn ${span.turn.number}` : span.name ?? "model",
  }[span.kind];
}
