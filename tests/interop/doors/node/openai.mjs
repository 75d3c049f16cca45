// OpenAI's own client for JavaScript: models, chat completions, responses.
import assert from "node:assert/strict"
import { ASK, SUM, WEATHER, approve, drive, key, url } from "./heartbit.mjs"
import OpenAI from "openai"

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
const said = (content) => [{ role: "user", content }]
// One point.
const PICTURE =
  "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
const schema = {
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
}

async function chats() {
  const { completions } = client.chat
  const whole = await completions.create({ model: "writer", messages: said("[[text: Done.]]") })
  assert.equal(whole.choices[0].message.content, "Done.")
  const stream = completions.stream({
    model: "writer",
    messages: said("[[text: one two three]] [[stream: 100]]"),
    stream_options: { include_usage: true },
  })
  const final = await stream.finalChatCompletion()
  assert.equal(final.choices[0].message.content, "one two three")
  assert.ok(final.usage.total_tokens > 0)
  const content = [
    { type: "text", text: "What is it? [[text: Red.]]" },
    { type: "image_url", image_url: { url: PICTURE } },
  ]
  const seen = await completions.create({ model: "writer", messages: said(content) })
  assert.equal(seen.choices[0].message.content, "Red.")
  const shaped = await completions.parse({
    model: "writer",
    messages: said('[[text: {"n": 42}]]'),
    response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
  })
  assert.equal(JSON.parse(shaped.choices[0].message.content).n, 42)
  const asked = await completions
    .runTools({
      model: "writer",
      messages: said(ASK),
      tools: [{ type: "function", function: { ...WEATHER, parse: JSON.parse, function: () => "20 C" } }],
    })
    .finalContent()
  assert.equal(asked, "Mild.")
}

async function responses() {
  const { responses } = client
  const first = await responses.create({ model: "writer", input: "One. [[text: 1]]" })
  assert.deepEqual([first.status, first.output_text], ["completed", "1"])
  const second = await responses.create({
    model: "writer",
    input: "Two. [[text: 2]]",
    previous_response_id: first.id,
  })
  assert.equal(second.previous_response_id, first.id)
  assert.equal((await responses.retrieve(first.id)).output_text, "1")
  const stream = responses.stream({ model: "writer", input: "[[text: one two three]] [[stream: 100]]" })
  assert.equal((await stream.finalResponse()).output_text, "one two three")
  const waits = await responses.create({ model: "sleeper", input: "Wait.", background: true })
  assert.equal(waits.status, "queued")
  assert.equal((await responses.cancel(waits.id)).status, "cancelled")
  const shaped = await responses.parse({
    model: "writer",
    input: '[[text: {"n": 42}]]',
    text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
  })
  assert.equal(JSON.parse(shaped.output_text).n, 42)
  const tools = [{ type: "function", ...WEATHER, strict: true }]
  const asked = await responses.create({ model: "writer", input: ASK, tools })
  const call = asked.output.find((one) => one.type === "function_call")
  const last = await responses.create({
    model: "writer",
    input: [{ type: "function_call_output", call_id: call.call_id, output: "20 C" }],
    previous_response_id: asked.id,
    tools,
  })
  assert.equal(last.output_text, "Mild.")
}

async function approved() {
  const asked = client.chat.completions.create({ model: "analyst", messages: said(SUM) })
  const run = await approve()
  const found = await asked
  assert.deepEqual([found.id, found.choices[0].message.content], [`chatcmpl-${run}`, "Done."])
}

await drive(async () => {
  const names = (await client.models.list()).data.map((one) => one.id)
  assert.ok(names.includes("writer") && names.includes("analyst"), names)
  assert.equal((await client.models.retrieve("writer")).id, "writer")
  await chats()
  await responses()
  await approved()
})
