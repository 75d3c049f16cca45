// Files beside a message: pictures for the model to see; documents and texts, which the server
// reads and adds to the message as marked parts:
//
//   <attachment id="7f3a91c2" name="notes.md" bytes="1234">
//   ...
//   </attachment id="7f3a91c2">

import { WORKSPACE } from "../api.js";
import { el, fill, icon } from "../dom.js";

const MOST_BYTES = 10_000_000; // of all files of a message
const MARKED = /\n*<attachment id="([0-9a-f]{8})" name="([^"\n]*)" bytes="(\d+)">\n([\s\S]*?)\n<\/attachment id="\1">/g;
const KINDS = "image/png,image/jpeg,image/gif,image/webp,.pdf,.docx,.md,.csv,.json,.yaml,.sql,text/*";

/**
 * Return a list of attached files and the button that adds some.
 * @param {Element} place Files that are pasted or dropped there are attached, too.
 * @param {() => void} [changed]
 * @returns {{node: Element, clip: Element, body: () => Promise<{images: string[], documents: object}>,
 *            count: () => number, clear: () => void}}
 */
export function attachments(place, changed = () => {}) {
  let files = [];
  let reading = Promise.resolve();
  const list = el("ul.files", { hidden: true });
  const problem = el("p.problem", { role: "alert", hidden: true });
  const chooser = el("input", { type: "file", multiple: true, accept: KINDS, hidden: true, onchange: () => { add(chooser.files); chooser.value = ""; } });
  const clip = el("button.iconic", { type: "button", "aria-label": "Attach pictures or documents", title: "Attach pictures, PDF, DOCX or text files", onclick: () => chooser.click() }, icon("attach_file"));
  place.addEventListener("dragover", (event) => event.preventDefault());
  for (const kind of ["drop", "paste"]) place.addEventListener(kind, (event) => taken(event, event.dataTransfer ?? event.clipboardData));

  function taken(event, { files: found }) {
    if (event.type === "drop" || found.length) event.preventDefault();
    if (!clip.disabled) add(found);
  }

  function add(found) {
    const copy = [...found]; // the browser empties its own list
    reading = reading.then(async () => {
      problem.hidden = true;
      for (const file of copy) await take(file);
      listed();
    });
  }

  async function take(file) {
    const together = files.reduce((sum, one) => sum + one.bytes, file.size);
    if (together > MOST_BYTES) fill(problem, `With ${file.name} the files have ${size(together)}: a message can have ${size(MOST_BYTES)}.`).hidden = false;
    else files.push({ name: file.name, bytes: file.size, data: await coded(file) });
  }

  function listed() {
    fill(list, files.map((file) => el("li", {}, isPicture(file) ? el("img.thumb", { src: file.data, alt: "" }) : icon("description"), el("span.clip", {}, file.name), el("span.quiet.number", {}, size(file.bytes)),
      el("button.iconic", { type: "button", "aria-label": `Leave ${file.name} out`, onclick: () => { files = files.filter((one) => one !== file); listed(); } }, icon("close")))));
    list.hidden = files.length === 0;
    changed();
  }

  async function body() {
    await reading;
    const content = ({ data }) => data.split(",")[1] ?? "";
    return {
      images: files.filter(isPicture).map(content),
      documents: Object.fromEntries(files.filter((one) => !isPicture(one)).map((one) => [one.name, content(one)])),
    };
  }

  const clear = () => { files = []; problem.hidden = true; listed(); };
  return { node: el("div.stack.tight", {}, problem, list, chooser), clip, body, count: () => files.length, clear };
}

const isPicture = ({ data }) => data.startsWith("data:image/");

const coded = (file) => new Promise((done, failed) => {
  const reader = Object.assign(new FileReader(), { onload: () => done(reader.result), onerror: () => failed(reader.error) });
  reader.readAsDataURL(file);
});

/** Return the pictures of a message, by their addresses. */
export function pictures(images) {
  return images.map((address) => {
    const place = `/w/${WORKSPACE}/pictures/${address.replace("artifact:", "")}`;
    return el("a.picture", { href: place, target: "_blank" }, el("img", { src: place, alt: "Picture of the message", loading: "lazy" }));
  });
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
