// Differences between original and edited arguments, leaf by leaf. Pure.

/**
 * Return the differences between two JSON values.
 * @param {any} before
 * @param {any} after
 * @returns {{path: string, before: any, after: any}[]} `undefined`: missing.
 */
export function diff(before, after, path = "") {
  if (same(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => diff(own(before, name), own(after, name), path ? `${path}.${name}` : name));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, at) => diff(before[at], after[at], `${path}[${at}]`)).flat();
  }
  return [{ path, before, after }];
}

/** Return true if two JSON values are equal; the order of names does not matter. */
export function same(one, other) {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => same(value, other[at]));
  }
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    return names.length === Object.keys(other).length
      && names.every((name) => Object.hasOwn(other, name) && same(one[name], other[name]));
  }
  return Object.is(one, other);
}

function own(value, name) {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
