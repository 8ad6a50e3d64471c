// npm's MCP client as a program that a test drives. It reads one call a line,
// {"tool": …, "arguments": {…}}, and answers one line each: {"result": …},
// {"refused": …} for an error an agent can act on, or {"failed": "…"} for one
// of the protocol. Its first line says what the two sides agreed on.
import { createInterface } from 'node:readline'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n')

const client = new Client(
  { name: 'apdesk-test-node', version: '1.0.0' },
  { versionNegotiation: { mode: 'auto' } },
)
const transport = new StreamableHTTPClientTransport(new URL(process.env.MCP_URL), {
  requestInit: { headers: { Authorization: `Bearer ${process.env.MCP_TOKEN}` } },
})
await client.connect(transport)
const { tools } = await client.listTools()
say({ protocol: client.getNegotiatedProtocolVersion(), tools: tools.map((tool) => tool.name) })

for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: args } = JSON.parse(line)
  try {
    const answer = await client.callTool({ name: tool, arguments: args }, { timeout: 120_000 })
    const text = answer.content.find((block) => block.type === 'text')?.text ?? 'null'
    if (answer.isError) say({ refused: JSON.parse(text), structured: answer.structuredContent !== undefined })
    else say({ result: answer.structuredContent, text: JSON.parse(text) })
  } catch (error) {
    say({ failed: String(error), code: error.code })
  }
}
await client.close()
