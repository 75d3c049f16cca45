// A form built from a JSON Schema; parts that do not fit fields are edited as JSON text.

import { el, icon } from "../dom.js";
import { boundsText, brokenBound } from "./bounds.js";

const DEEPEST = 6;
const LONG = 1000; // a field with a higher limit of characters gets several lines
let made = 0;

/** A field of the form has an invalid value. */
export class FormProblem extends Error {}

/**
 * Build a form for an object.
 * @param {object|null} schema The tool's parameters; null: one JSON text.
 * @param {object} value Initial value; undefined: empty.
 * @param {string} [label] Label of the whole form.
 * @param {object} [labels] Labels of its fields by name; such a field shows neither its bounds nor that it is optional.
 * @returns {{element: HTMLElement, read: () => object}} `read` throws a FormProblem, and moves the
 *   focus to the invalid field.
 */
export function schemaForm(schema, value, label = "Arguments", labels = {}) {
  return field({ schema: schema ?? {}, root: schema ?? {}, value, label, labels, required: true, depth: 0 });
}

function field(given) {
  const { schema, nullable } = meant(given.schema, given.root);
  const it = { ...given, schema, nullable, blank: blankOf(given, nullable) };
  if (it.depth > DEEPEST) return jsonField(it);
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one !== "object")) return choice(it);
  if (schema.type === "object" && fitsProperties(it)) return objectFields(it);
  if (schema.type === "array" && isSchema(schema.items) && (it.value === undefined || Array.isArray(it.value))) return listFields(it);
  if (schema.type === "string" && isOr(it.value, "string")) return textField(it);
  if (schema.type === "boolean" && isOr(it.value, "boolean")) return choice({ ...it, schema: { ...schema, enum: [true, false] } });
  if ((schema.type === "number" || schema.type === "integer") && isOr(it.value, "number")) return numberField(it);
  return jsonField(it);
}

/** Resolve a local reference, and remove null from the schema's types. */
function meant(schema, root, hops = 0) {
  if (typeof schema?.$ref === "string" && schema.$ref.startsWith("#/") && hops < DEEPEST) {
    const found = schema.$ref.slice(2).split("/").reduce((part, name) => part?.[name], root);
    return meant(found ?? {}, root, hops + 1);
  }
  const kinds = schema?.anyOf ?? schema?.oneOf;
  if (Array.isArray(kinds) && kinds.length === 2 && kinds.some((one) => one?.type === "null")) {
    const inner = meant(kinds.find((one) => one?.type !== "null") ?? {}, root, hops + 1);
    return { schema: { ...inner.schema, description: schema.description ?? inner.schema.description }, nullable: true };
  }
  if (Array.isArray(schema?.type) && schema.type.length === 2 && schema.type.includes("null")) {
    return { schema: { ...schema, type: schema.type.find((one) => one !== "null") }, nullable: true };
  }
  return { schema: isSchema(schema) ? schema : {}, nullable: false };
}

/** Return the value of an empty field: the old one if it was empty, else null or undefined. */
function blankOf({ value, required }, nullable) {
  if (value === undefined || value === null) return value;
  if (nullable) return null;
  return required ? "" : undefined;
}

function isSchema(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOr(value, kind) {
  return value === undefined || value === null || typeof value === kind;
}

function fitsProperties({ schema, value }) {
  if (!isSchema(schema.properties)) return false;
  if (value === undefined) return true;
  return isSchema(value) && Object.keys(value).every((name) => Object.hasOwn(schema.properties, name));
}

function objectFields({ schema, root, value, label, labels = {}, required, depth }) {
  const fields = Object.entries(schema.properties).map(([name, inner]) => [name, field({
    schema: inner, root, value: value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined,
    label: labels[name] ?? name, isNamed: name in labels, required: Boolean(schema.required?.includes(name)), depth: depth + 1,
  })]);
  const element = el("fieldset.fields", {}, el("legend", { class: depth ? null : "away" }, label), fields.map(([, one]) => one.element));
  return {
    element,
    read() {
      // An optional object without any input is omitted.
      const isUntouched = [...element.querySelectorAll("input, select, textarea")].every((one) => one.value === "");
      if (!required && value === undefined && isUntouched) return undefined;
      const read = fields.map(([name, one]) => [name, one.read()]).filter(([, one]) => one !== undefined);
      return read.length || required || value !== undefined ? Object.fromEntries(read) : undefined;
    },
  };
}

function listFields({ schema, root, value, label, required, depth, blank }) {
  const rows = el("div.stack");
  const fields = [];
  const add = (one, isNew = false) => {
    const inner = field({ schema: schema.items, root, value: one, label: `${label} ${fields.length + 1}`, required: true, depth: depth + 1 });
    const row = el("div.item", {}, inner.element, el("button.iconic", {
      type: "button", "aria-label": `Remove from ${label}`,
      onclick: () => { fields.splice(fields.indexOf(inner), 1); row.remove(); more.focus(); },
    }, icon("close")));
    fields.push(inner);
    rows.append(row);
    if (isNew) row.querySelector("input, select, textarea")?.focus();
  };
  const more = el("button.button", { type: "button", onclick: () => add(undefined, true) }, icon("add"), `Add to ${label}`);
  for (const one of value ?? []) add(one);
  return {
    element: el("fieldset.fields", {}, el("legend", {}, label), about(schema), rows, more),
    read() {
      if (!fields.length && !required && !Array.isArray(value)) return blank;
      return checked(more, schema, label, fields.map((one) => one.read()));
    },
  };
}

function textField({ schema, value, label, isNamed, required, blank, nullable }) {
  const long = (schema.maxLength ?? 0) > LONG || (value ?? "").length > 60 || (value ?? "").includes("\n");
  const input = el(long ? "textarea" : "input", { id: fresh(), value: value ?? "", ...(long ? { rows: 5 } : { type: "text" }), autocomplete: "off", spellcheck: "false" });
  return labelled(input, { schema, label, isNamed, required, nullable }, () => {
    if (input.value !== "") return checked(input, schema, label, input.value);
    if (value === "") return "";
    if (value === undefined && required) return nullable ? null : refuse(input, `${label} is required.`);
    return blank === "" ? checked(input, schema, label, "") : blank;
  });
}

function numberField({ schema, value, label, required, blank, nullable }) {
  const input = el("input", { id: fresh(), type: "text", inputmode: "decimal", value: value ?? "", autocomplete: "off" });
  return labelled(input, { schema, label, required, nullable }, () => {
    const text = input.value.trim();
    if (text === "" && blank !== "" && !(required && value === undefined)) return blank;
    const number = Number(text);
    const whole = schema.type === "integer";
    if (text === "" && required) refuse(input, `${label} is required.`);
    if (text === "" || !Number.isFinite(number)) refuse(input, `${label} is not a number.`);
    if (whole && !Number.isSafeInteger(number)) refuse(input, `${label} is not a whole number that a browser can hold.`);
    return checked(input, schema, label, number);
  });
}

function choice({ schema, value, label, required, blank, nullable }) {
  const say = (one) => (one === true ? "yes" : one === false ? "no" : String(one));
  const known = value === undefined || value === null || schema.enum.includes(value) ? schema.enum : [value, ...schema.enum];
  const empty = value === undefined || value === null || nullable || !required;
  const options = known.map((one, at) => el("option", { value: at, selected: Object.is(one, value) }, say(one)));
  const select = el("select", { id: fresh() }, empty ? el("option", { value: "", selected: value === undefined || value === null }, "–") : null, options);
  return labelled(select, { schema, label, required, nullable }, () => {
    if (select.value !== "") return known[Number(select.value)];
    if (value === undefined && required) refuse(select, `Choose ${label}.`);
    return blank;
  });
}

function jsonField({ schema, value, label, isNamed, required, blank, nullable }) {
  const text = value === undefined ? "" : JSON.stringify(value, null, 2);
  const input = el("textarea.code", { id: fresh(), value: text, rows: Math.min(16, text.split("\n").length + 2), autocomplete: "off", spellcheck: "false" });
  return labelled(input, { schema, label: `${label} (JSON)`, isNamed, required, nullable }, () => {
    if (input.value.trim() === "") {
      if (required) refuse(input, `${label} is empty: write JSON.`);
      return blank;
    }
    let read;
    try {
      read = JSON.parse(input.value);
    } catch (error) {
      return refuse(input, `${label} is not JSON: ${error.message}.`);
    }
    const lacking = isSchema(read) && Array.isArray(schema.required) ? schema.required.filter((name) => !Object.hasOwn(read, name)) : [];
    return lacking.length ? refuse(input, `${label} (JSON) lacks ${lacking.join(", ")}.`) : read;
  });
}

/** Return the value if it is within the bounds of its schema. */
function checked(input, schema, label, value) {
  const broken = brokenBound(schema, value);
  return broken ? refuse(input, `${label} ${broken}.`) : value;
}

function labelled(input, { schema, label, isNamed, required, nullable }, read) {
  const hint = about(schema, isNamed);
  if (hint) {
    hint.id = `${input.id}-about`;
    input.setAttribute("aria-describedby", hint.id);
  }
  if (required && !nullable) input.setAttribute("aria-required", "true");
  input.addEventListener("input", () => input.removeAttribute("aria-invalid"));
  const optional = isNamed || (required && !nullable) ? null : el("span.quiet", {}, " optional");
  return { element: el("div.field", {}, el("label", { for: input.id }, el("span", {}, label, optional)), input, hint), read };
}

function about(schema, isNamed = false) {
  const bounds = isNamed ? "" : boundsText(schema);
  return schema.description || bounds ? el("p.quiet", {}, [schema.description, bounds].filter(Boolean).join(" ")) : null;
}

function refuse(input, problem) {
  input.setAttribute("aria-invalid", "true");
  input.focus();
  throw new FormProblem(problem);
}

function fresh() {
  made += 1;
  return `field-${made}`;
}
