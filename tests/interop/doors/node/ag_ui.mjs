// AG-UI's own client: text, calls, an approval as an interrupt, a question, tools of the page.
import assert from "node:assert/strict"
import { ASK, SUM, WEATHER, drive, headers, url } from "./heartbit.mjs"
import { HttpAgent } from "@ag-ui/client"

const agentOf = (name) => new HttpAgent({ url: `${url}/agui/${name}`, headers })
const say = (agent, content) => agent.addMessage({ id: crypto.randomUUID(), role: "user", content })
const last = (agent) => agent.messages.at(-1)

async function text() {
  const agent = agentOf("writer")
  say(agent, "[[text: one two three]] [[stream: 100]]")
  await agent.runAgent()
  assert.deepEqual([last(agent).role, last(agent).content], ["assistant", "one two three"])
  say(agent, "[[text: Again.]]")
  await agent.runAgent()
  assert.equal(last(agent).content, "Again.")
}

async function approval() {
  const agent = agentOf("analyst")
  say(agent, SUM)
  await agent.runAgent()
  const [interrupt] = agent.pendingInterrupts
  assert.equal(interrupt.reason, "tool_call")
  const resume = [{ interruptId: interrupt.id, status: "resolved", payload: { approved: true } }]
  await agent.runAgent({ resume })
  assert.equal(agent.pendingInterrupts.length, 0)
  assert.equal(last(agent).content, "Done.")
  assert.ok(agent.messages.some((one) => one.role === "tool" && one.content.includes("42")))
}

async function question() {
  const agent = agentOf("asker")
  say(agent, '[[calls: ask_human {"question": "Which colour?"}]] [[text: Thank you.]]')
  await agent.runAgent()
  const [interrupt] = agent.pendingInterrupts
  assert.equal(interrupt.reason, "input_required")
  const payload = interrupt.responseSchema?.properties?.answer ? { answer: "red" } : "red"
  await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: "resolved", payload }] })
  assert.equal(last(agent).content, "Thank you.")
}

async function toolOfThePage() {
  const agent = agentOf("writer")
  say(agent, ASK)
  await agent.runAgent({ tools: [WEATHER] })
  const [call] = last(agent).toolCalls
  assert.equal(call.function.name, "get-weather")
  agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "20 C" })
  await agent.runAgent({ tools: [WEATHER] })
  assert.equal(last(agent).content, "Mild.")
}

async function failure() {
  const agent = agentOf("writer")
  say(agent, "[[error: 400]]")
  let told = ""
  const heard = { onRunErrorEvent: ({ event }) => { told = event.message } }
  await agent.runAgent({}, heard).catch(() => {})
  assert.ok(told.includes("400"), told)
}

await drive(async () => {
  for (const step of [text, approval, question, toolOfThePage, failure]) await step()
})
