// The tasks extension's own client and schemas, over MCP's own client of 2026-07-28.
import assert from "node:assert/strict"
import { SUM, drive, headers, url } from "./heartbit.mjs"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client"
import * as v2 from "@modelcontextprotocol/ext-tasks/core/v2"

const VERSION = "2026-07-28"
const clientInfo = { name: "interop", version: "1" }
const clientCapabilities = { elicitation: { form: {} } }
let number = 0
const results = []

// The SDK's client knows no tasks: the extension sends their requests by this.
async function rawDispatch(request) {
  const { method, params } = request
  number += 1
  const answer = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "MCP-Method": method,
      "MCP-Name": params.name ?? params.taskId,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: number, ...request }),
  })
  const found = await answer.json()
  if (found.result) results.push([method, found.result])
  return found
}

function checkSchemas() {
  for (const [method, result] of results) {
    if (method === "tools/call") assert.ok(v2.isCreateTaskResultV2(result), JSON.stringify(result))
    if (method === "tasks/get") assert.ok(v2.isDetailedTaskV2(result), JSON.stringify(result))
  }
  assert.ok(results.some(([method]) => method === "tools/call"))
  assert.ok(results.some(([, result]) => result.status === "input_required"))
}

await drive(async () => {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: "auto" },
  })
  const place = new URL(`${url}/mcp`)
  await client.connect(new StreamableHTTPClientTransport(place, { requestInit: { headers } }))
  assert.equal(client.getProtocolEra(), "modern")
  assert.ok((await client.listTools()).tools.some((tool) => tool.name === "writer"))
  const session = createTaskSessionFromClient(client, {
    endpointId: "heartbit",
    rawDispatch,
    v2RequestFraming: { protocolVersion: VERSION, clientInfo, clientCapabilities },
    onInputRequest: async () => ({ action: "accept", content: { decision: "approve" } }),
  })
  for (const [name, task] of [["writer", "[[text: Done.]]"], ["analyst", SUM]]) {
    const execution = await session.callTool(name, { task })
    const { outcome } = await execution.settle()
    assert.equal(resultFromTaskOutcome(outcome).content[0].text, "Done.", JSON.stringify(outcome))
  }
  await session.close()
  checkSchemas()
})
