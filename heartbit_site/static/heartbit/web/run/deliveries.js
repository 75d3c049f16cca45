// Deliveries of a run's result, with their status.

import { all, api, may, Refusal } from "../api.js";
import { el, fill, icon, note, pill } from "../dom.js";
import { moment } from "../words.js";
import { Look } from "./look.js";

const ICONS = { email: "mail", webhook: "webhook", artifact: "draft" };
const AGAIN_MS = 3000; // interval for refreshing pending deliveries

/** Card of deliveries; hidden while there are none. */
export class Deliveries {
  constructor() {
    this.run = null;
    this.looks = 0;
    this.timer = 0;
    this.list = el("ul.produced");
    this.element = el("section.card", { "aria-label": "Deliveries", hidden: true },
      el("header", {}, el("h2", {}, "Deliveries"), el("span.quiet", {}, "where the result goes")), this.list);
    this.look = new Look({ read: () => all("/deliveries", "deliveries", { run: this.run.id }), show: (rows) => this.show(rows) });
  }

  /** Refresh when another run is shown, the run has ended, or a delivery is pending. */
  draw(run) {
    if (this.run?.id !== run.id) this.element.hidden = true;
    this.run = run;
    this.look.at(`${run.id} ${run.ending ? "ended" : ""} ${this.looks}`);
  }

  show(rows) {
    clearTimeout(this.timer);
    this.element.hidden = !rows.length;
    fill(this.list, rows.reverse().map((row) => this.item(row)));
    if (this.run.ending && rows.some(({ status }) => status === "pending")) this.timer = setTimeout(() => this.lookAgain(), AGAIN_MS);
  }

  lookAgain() {
    this.looks += 1;
    this.draw(this.run);
  }

  item(row) {
    const { status, attempts, error, addresses } = row;
    const refused = Object.entries(addresses).filter(([, why]) => why).map(([address, why]) => `${address}: ${why}`);
    const when = status === "delivered" ? moment(row.delivered_at) : status === "pending" && row.next_at && attempts ? `tried again at ${moment(row.next_at)}` : "";
    return el("li", {}, icon(ICONS[row.kind]), el("b.text", {}, row.recipient), pill(status),
      el("span.quiet", {}, [attempts > 1 ? `${attempts} attempts` : "", when].filter(Boolean).join(", ")),
      status !== "pending" && may("runs:write") ? el("button.button.small", {
        type: "button", "aria-label": `Send again to ${row.recipient}`, onClick: ({ currentTarget }) => this.send(row, currentTarget),
      }, icon("replay"), "Send again") : null,
      [error, ...refused].filter(Boolean).map((why) => el("p.problem", {}, why)));
  }

  async send({ id }, button) {
    button.disabled = true;
    try {
      await api(`/deliveries/${id}/redeliver`, { method: "POST" });
      note("It goes out within seconds.", "success");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      note(error.message, "danger");
    }
    this.lookAgain();
  }
}
