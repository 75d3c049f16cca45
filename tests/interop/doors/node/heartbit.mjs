// Where Heartbit is, and the requests that were sent to it.
export const url = process.env.HEARTBIT_URL
export const key = process.env.HEARTBIT_KEY
export const headers = { Authorization: `Bearer ${key}` }

let count = 0
const sent = globalThis.fetch
globalThis.fetch = (...given) => {
  count += 1
  return sent(...given)
}

// Run the steps; the last line that is printed says how many requests they took.
export async function drive(steps) {
  await steps()
  console.log(JSON.stringify({ calls: count }))
  process.exit(0)
}

// A person approves the one call that waits.
export async function approve() {
  for (let tries = 0; tries < 600; tries += 1) {
    const { calls } = await (await sent(`${url}/api/v1/approvals`, { headers })).json()
    if (calls.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    const [{ run_id, call_id, digest }] = calls
    const body = JSON.stringify({ digest, verdict: "approve" })
    const place = `${url}/api/v1/runs/${run_id}/calls/${call_id}/decision`
    const told = { ...headers, "Content-Type": "application/json" }
    const found = await sent(place, { method: "POST", headers: told, body })
    if (!found.ok) throw new Error(await found.text())
    return run_id
  }
  throw new Error("no call waits")
}

export const SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
export const ASK = '[[calls: get-weather {"city": "Oslo"}]] [[text: Mild.]]'
export const WEATHER = {
  name: "get-weather",
  description: "Return the weather.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
}
