// Text files attached to a message, as marked parts of its text that every model can read.
//
//   What do you make of it?
//
//   <attachment id="7f3a91c2" name="notes.md" bytes="1234">
//   ...
//   </attachment id="7f3a91c2">
//
// The file does not contain the id, so nothing in the file can end the part early.

const MOST_FILES = 5;
const MOST_BYTES = 200_000;
const MOST_CHARACTERS = 380000; // of a message; the API accepts 400,000
const MARKED = /\n*<attachment id="([0-9a-f]{8})" name="([^"\n]*)" bytes="(\d+)">\n([\s\S]*?)\n<\/attachment id="\1">/g;

/** Default filter of the file dialog; the bytes decide whether a file is text. */
export const KINDS = ".txt,.md,.csv,.tsv,.json,.jsonl,.log,.py,.js,.ts,.html,.css,.xml,.yaml,.yml,.toml,.ini,.sql,.sh,.rs,.go,.java,.c,.h,.cpp,text/*";

/**
 * Read a selected file.
 * @param {File} file
 * @param {{name: string, text: string, bytes: number}[]} already Files attached so far.
 * @returns {Promise<{name: string, text: string, bytes: number}>}
 * @throws {Error} With a sentence: too many, too large, or not text.
 */
export async function read(file, already) {
  const name = file.name.replace(/["\r\n]/g, "_").slice(0, 120);
  if (already.length >= MOST_FILES) throw new Error(`${name} is one too many: a message can have ${MOST_FILES} files.`);
  if (file.size > MOST_BYTES) throw new Error(`${name} has ${size(file.size)}: a file can have at most ${size(MOST_BYTES)}.`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    text = "\0";
  }
  if (text.includes("\0")) throw new Error(`${name} is not UTF-8 text: attach text files, such as .txt, .md, .csv or .json.`);
  const together = already.reduce((sum, one) => sum + one.text.length, text.length);
  if (together > MOST_CHARACTERS) throw new Error(`With ${name} the files have more than ${MOST_CHARACTERS.toLocaleString("en")} characters: attach fewer.`);
  return { name, text, bytes: file.size };
}

/** Return the text to send: a message with its files. */
export function compose(said, files) {
  return [said, ...files.map(marked)].filter(Boolean).join("\n\n");
}

function marked({ name, text, bytes }) {
  let id;
  do {
    id = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  } while (text.includes(id));
  return `<attachment id="${id}" name="${name}" bytes="${bytes}">\n${text}\n</attachment id="${id}">`;
}

/**
 * Split a sent text into the message and its files.
 * @returns {{said: string, files: {name: string, text: string, bytes: number}[]}}
 */
export function split(message) {
  const files = [];
  const said = message.replace(MARKED, (_, id, name, bytes, text) => {
    files.push({ name, text, bytes: Number(bytes) });
    return "";
  });
  return { said: said.trim(), files };
}

/** "1.2 kB". */
export function size(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toFixed(bytes < 10000 ? 1 : 0)} kB`;
}
