// Files of the folder that a run tree works in, each with a download link.

import { WORKSPACE, all } from "../api.js";
import { el, fill, icon } from "../dom.js";
import { ago, moment, size } from "../words.js";
import { Look } from "./look.js";

/** Card of files; hidden while the folder is empty. */
export class Files {
  /** @param {string} root Id of the root run. */
  constructor(root) {
    this.root = root;
    this.list = el("ul.produced.files", { tabindex: 0, "aria-label": "Files" });
    this.count = el("span.quiet.number");
    this.element = el("section.card", { "aria-label": "Files", hidden: true },
      el("header", {}, el("h2", {}, "Files"), el("span.quiet", {}, "in the folder of the whole tree"), this.count), this.list);
    this.look = new Look({ read: () => all(`/runs/${root}/files`, "files"), show: (rows) => this.show(rows) });
  }

  /** Refresh when a call has ended: it may have written files. */
  draw(store, root) {
    const calls = store.rows(root).flatMap(({ run }) => [...run.calls.values()]);
    this.look.at(`${root} ${calls.filter((call) => call.result != null).length}`);
  }

  show(rows) {
    this.element.hidden = !rows.length;
    this.count.textContent = String(rows.length);
    fill(this.list, rows.map(({ path, size: bytes, changed_at: at }) => el("li", {},
      icon("draft"), el("b.clip", { title: path }, path), el("span.quiet.number", {}, size(bytes)),
      el("time.quiet", { datetime: at, title: moment(at) }, ago(at)),
      el("a.button.small", { href: this.address(path), download: path.split("/").pop(), "aria-label": `Download ${path}` },
        icon("download"), "Download"))));
  }

  /** Return the URL with the workspace in its query, because a link cannot send a header. */
  address(path) {
    return `/api/v1/runs/${this.root}/files/content?${new URLSearchParams({ path, workspace: WORKSPACE })}`;
  }
}
