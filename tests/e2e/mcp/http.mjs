// http.mjs URL TOKEN: the same as client.mjs, of a server over HTTP; then its
// session is ended and used once more.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from
  "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
const client = new Client({ name: "test", version: "1" });
const errors = [];
client.onerror = error => errors.push(String(error));
await client.connect(transport);
const told = {
  server: client.getServerVersion(),
  session: transport.sessionId,
  tools: (await client.listTools()).tools,
  results: [],
  errors,
};
await client.ping();
for (const [name, given] of JSON.parse(readFileSync(0, "utf8")))
  told.results.push(await client.callTool({ name, arguments: given }));
// Two at the same time: one waits for what the other one does.
const box = (await client.callTool({ name: "sandbox_create", arguments: {} }))
  .structuredContent.id;
told.box = box;
const waits = client.callTool({ name: "command_run", arguments: {
  command: "while ! [ -e go ]; do sleep 0.02; done; echo went" } });
await client.callTool({ name: "file_write",
  arguments: { path: "go", content: "" } });
told.together = (await waits).structuredContent;
// One that is cancelled.
const stop = new AbortController();
const cancelled = client.callTool({ name: "command_run", arguments: {
  command: "echo $$ > began; sleep 1000" } }, undefined,
  { signal: stop.signal });
const settled = cancelled.then(() => "answered", () => "cancelled");
for (;;) {
  const read = await client.callTool({ name: "file_read",
    arguments: { path: "began" } });
  if (!read.isError && read.content[0].text.endsWith("\n"))
    break;
  await new Promise(resolve => setTimeout(resolve, 20));
}
stop.abort();
told.cancelled = await settled;
for (;;) {
  const look = await client.callTool({ name: "command_run",
    arguments: { command: "kill -0 $(cat began)" } });
  if (look.structuredContent.exit_code !== 0)
    break;
  await new Promise(resolve => setTimeout(resolve, 20));
}
await transport.terminateSession();
const again = await fetch(url, { method: "POST", headers: {
  Authorization: `Bearer ${token}`, "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
  "Mcp-Session-Id": told.session,
}, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) });
told.afterwards = again.status;
await client.close();
console.log(JSON.stringify(told));
