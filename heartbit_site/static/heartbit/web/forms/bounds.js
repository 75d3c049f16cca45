// Bounds that a JSON Schema sets for one value, checked before a request. Pure.

const LENGTHS = { string: "characters", array: "entries" };

/**
 * Return which bound a value breaks, to follow its label: "is 4: at most 3". The server checks again.
 * @param {object} schema
 * @param {any} value A string, number or array of the schema's type.
 * @returns {string|null} Null: the value is within all bounds.
 */
export function brokenBound(schema, value) {
  if (typeof value === "number") return brokenNumber(schema, value);
  if (typeof value === "string") return brokenLength([...value].length, schema.minLength, schema.maxLength, LENGTHS.string) ?? brokenPattern(schema, value);
  if (Array.isArray(value)) return brokenLength(value.length, schema.minItems, schema.maxItems, LENGTHS.array);
  return null;
}

/** Return the bounds in words, "From 1 to 10."; empty without bounds. */
export function boundsText(schema) {
  const unit = LENGTHS[schema.type];
  const [least, most] = unit
    ? [{ at: schema.minLength ?? schema.minItems }, { at: schema.maxLength ?? schema.maxItems }]
    : [bound(schema.minimum, schema.exclusiveMinimum, Math.max), bound(schema.maximum, schema.exclusiveMaximum, Math.min)];
  const after = unit ? ` ${unit}` : "";
  const isGiven = ({ at }) => typeof at === "number" && !(unit && at === 0);
  if (isGiven(least) && isGiven(most) && !least.isOpen && !most.isOpen) {
    return least.at === most.at ? `Exactly ${least.at}${after}.` : `From ${least.at} to ${most.at}${after}.`;
  }
  const parts = [];
  if (isGiven(least)) parts.push(`${least.isOpen ? "more than" : "at least"} ${least.at}${after}`);
  if (isGiven(most)) parts.push(`${most.isOpen ? "less than" : "at most"} ${most.at.toLocaleString("en")}${after}`);
  const text = parts.join(", ");
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}

/** Return the tighter of an inclusive and an exclusive bound; open: the bound itself is invalid. */
function bound(closed, open, tighter) {
  if (typeof open !== "number") return { at: closed, isOpen: false };
  const isOpen = typeof closed !== "number" || tighter(closed, open) === open;
  return { at: isOpen ? open : closed, isOpen };
}

function brokenNumber({ minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: step }, value) {
  if (value < minimum) return `is ${value}: at least ${minimum} is needed`;
  if (value > maximum) return `is ${value}: at most ${maximum} is allowed`;
  if (value <= above) return `is ${value}: it has to be above ${above}`;
  if (value >= below) return `is ${value}: it has to be below ${below}`;
  if (Number.isInteger(step) && step > 0 && value % step !== 0) return `is ${value}: it has to be a multiple of ${step}`;
  return null;
}

function brokenLength(length, least, most, unit) {
  if (length < least) return `has ${length} ${unit}: at least ${least} are needed`;
  if (length > most) return `has ${length} ${unit}: at most ${most} are allowed`;
  return null;
}

function brokenPattern({ pattern }, value) {
  if (typeof pattern !== "string") return null;
  try {
    return new RegExp(pattern, "u").test(value) ? null : `does not have the form ${pattern}`;
  } catch {
    return null; // a pattern of another dialect: the server checks it
  }
}
