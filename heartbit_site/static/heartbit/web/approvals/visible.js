// Makes hidden characters visible, like heartbit_site/base/visible_text.py on the server. Pure.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]|(?<=[\p{Mn}\p{Me}]{3})[\p{Mn}\p{Me}]/gu;
const MEANT = new Set([" ", "\n", "\t"]);

/**
 * Split a text at its hidden characters.
 * @param {string} text
 * @returns {{text: string, escaped: boolean}[]} Visible text, an escape, visible text ...
 */
export function pieces(text) {
  const found = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(HIDDEN)) {
    if (MEANT.has(character)) continue;
    if (index > from) found.push({ text: text.slice(from, index), escaped: false });
    found.push({ text: escape(character), escaped: true });
    from = index + character.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), escaped: false });
  return found;
}

function escape(character) {
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}
