// Cards in the thread for a run's calls that wait for a person.

import { card, conclude } from "../approvals/card.js";
import { listAsked } from "../approvals/decide.js";
import { el, fill, sentence } from "../dom.js";

/**
 * Return the container for the questions of a run's tree.
 * @param {string} root Id of the root run.
 * @returns {{node: HTMLElement, update: (asked: Set<string>) => void}} `asked` are the names
 *   ("run/call") of waiting calls; a card stays while its call waits.
 */
export function questions(root) {
  const node = el("div.stack.questions", { hidden: true });
  const cards = new Map();
  let wanted = new Set();
  let asking = false;

  async function look() {
    if (asking) return;
    asking = true;
    try {
      for (const call of await listAsked()) show(call);
    } catch (error) {
      fill(node, el("p.problem", {}, sentence(error.message)));
    } finally {
      asking = false;
    }
  }

  function show(call) {
    const name = nameOf(call);
    const version = call.key ?? call.question ?? call.digest;
    if (call.root_id !== root || !wanted.has(name) || cards.get(name)?.version === version) return;
    const before = cards.get(name);
    const element = card(call, { onAway: () => leave(name, element) });
    cards.set(name, { element, version });
    node.append(element);
    if (before) take(name, before);
  }

  function leave(name, element) {
    if (cards.get(name)?.element === element) cards.delete(name);
    node.hidden = wanted.size + cards.size === 0;
  }

  /** Remove a card whose call no longer waits, unless it has something to be read. */
  async function take(name, { element }) {
    const stays = await conclude(element);
    if (stays || (wanted.has(name) && cards.get(name)?.element === element)) return;
    element.remove();
    leave(name, element);
  }

  function update(asked) {
    wanted = new Set(asked);
    node.hidden = wanted.size + cards.size === 0;
    for (const [name, shown] of cards) if (!wanted.has(name)) take(name, shown);
    if ([...wanted].some((name) => !cards.has(name))) look();
  }
  return { node, update };
}

function nameOf({ run_id: run, call_id: call }) {
  return `${run}/${call}`;
}
