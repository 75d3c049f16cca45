// Artifacts of a run and its sub-agents, each with a download link.

import { WORKSPACE, all } from "../api.js";
import { el, fill, icon } from "../dom.js";
import { size } from "../words.js";
import { Look } from "./look.js";

const ICONS = { code: "code", file: "draft", data: "data_object", log: "receipt_long" };

/** Card of artifacts; hidden while there are none. */
export class Artifacts {
  /** @param {(id: string) => string} address Returns the URL of a run of the tree. */
  constructor(address) {
    this.address = address;
    this.id = "";
    this.list = el("ul.produced");
    this.count = el("span.quiet.number");
    this.element = el("section.card", { "aria-label": "Artifacts", hidden: true },
      el("header", {}, el("h2", {}, "Artifacts"), this.count), this.list);
    this.look = new Look({ read: () => all(`/runs/${this.id}/artifacts`, "artifacts"), show: (rows) => this.show(rows) });
  }

  /** Refresh when another run is shown, or when that run or one below it has ended. */
  draw(store, run) {
    if (this.id !== run.id) {
      this.id = run.id;
      this.element.hidden = true;
    }
    this.look.at(`${run.id} ${store.rows(run.id).filter((row) => row.run.ending).length}`);
  }

  show(rows) {
    this.element.hidden = !rows.length;
    this.count.textContent = String(rows.length);
    fill(this.list, rows.map((row) => el("li", {}, icon(ICONS[row.kind]), el("b.clip", { title: row.name }, row.file),
      el("span.quiet", {}, row.language && row.language !== "text" ? `${row.kind}, ${row.language}` : row.kind),
      row.run_id === this.id ? null : el("a", { href: this.address(row.run_id) }, `by ${row.agent}`),
      el("span.quiet.number", {}, size(row.size)),
      el("a.button.small", { href: addressOf(row), download: row.file, "aria-label": `Download ${row.file}${row.run_id === this.id ? "" : ` by ${row.agent}`}` },
        icon("download"), "Download"))));
  }
}

/** Return the URL with the workspace in its query, because a link cannot send a header. */
function addressOf({ run_id: run, name }) {
  return `/api/v1/runs/${run}/artifacts/${encodeURIComponent(name)}?${new URLSearchParams({ workspace: WORKSPACE })}`;
}
