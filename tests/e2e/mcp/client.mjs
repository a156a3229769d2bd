// client.mjs COMMAND ARGUMENT...: connects to a server of that command, reads
// calls [[tool, arguments], ...] from stdin, and prints what it was told.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from
  "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({
  command, args, env: process.env, stderr: "inherit",
}));
const told = {
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools,
  results: [],
};
await client.ping();
for (const [name, given] of JSON.parse(readFileSync(0, "utf8")))
  told.results.push(await client.callTool({ name, arguments: given }));
console.log(JSON.stringify(told));
await client.close();
