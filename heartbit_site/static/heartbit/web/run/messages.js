// Messages of a workflow's run, which its journal refers to by the call that produced them.

/** Return the input of a call as text. */
export function messageOf(run, id) {
  const activation = activationOf(run, id);
  if (!activation) return "";
  const { items } = activation;
  if (!items) return text(value(run, activation.message));
  const list = value(run, items);
  return text(Array.isArray(list) ? list[indexOf(id) - indexOf(activation.id)] : list);
}

/** Return the output of a call as text; that of an artifact is its name. */
export function resultOf(run, call) {
  return text(output(run, call.id) ?? call.result);
}

/** Return the errors after which a call was repeated. */
export function retriesOf(run, id) {
  return finished(run, id).filter(({ will_retry: again }) => again).map(({ error }) => error.message);
}

function activationOf(run, id) {
  const [step, index] = [Number.parseInt(id, 10) || 0, indexOf(id)];
  const commit = run.events.findLast(({ event, payload }) => event === "graph.committed" && (payload.superstep ?? 0) === step);
  return commit?.payload.next?.find((one) => index >= indexOf(one.id) && index < indexOf(one.id) + (one.items ? one.count ?? 1 : 1));
}

function indexOf(id) {
  return Number(id.split(".")[1]);
}

/** Return the results of a call, those that were repeated first. */
function finished(run, id) {
  return run.events.filter(({ event, payload }) => event === "node.finished" && payload.call_id === id).map(({ payload }) => payload);
}

function value(run, message = {}) {
  const { call, parts, path = [] } = message;
  let found = message.value ?? null;
  if (parts?.length) found = Object.fromEntries(parts.map(({ source, message: one }) => [source, one ? value(run, one) : null]));
  else if (call === "input") found = run.task;
  else if (call) found = produced(run, message);
  return path.reduce((one, key) => one?.[key], found);
}

function produced(run, { call, source = "output", position = 0 }) {
  const activation = activationOf(run, call);
  if (activation?.items && source === "output") {
    const first = indexOf(call);
    return Array.from({ length: activation.count ?? 1 }, (_, index) => output(run, `${call.split(".")[0]}.${first + index}`) ?? null);
  }
  const last = finished(run, call).at(-1);
  if (source === "sent") return last?.sends?.[position]?.value ?? null;
  return source === "yielded" ? last?.yields?.[position] : output(run, call);
}

function output(run, id) {
  const last = finished(run, id).at(-1);
  return last?.error ? last.error.message : last?.artifact || last?.output;
}

function text(given) {
  return typeof given === "string" ? given : JSON.stringify(given ?? null, null, 2);
}
