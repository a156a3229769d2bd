// What the tests of a package do: servers on loopback, child processes,
// temporary files, many modules.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from
	"node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { Worker } from "node:worker_threads";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import spawn from "cross-spawn";
import express from "express";
import { z } from "zod";

test("an install script ran", () => {
	assert.equal(readFileSync("native.out", "utf8"),
		"built by an install script\n");
});

test("a server answers on loopback", async () => {
	const app = express();
	app.use(express.json());
	app.post("/twice", (request, response) => {
		response.json({ twice: request.body.number * 2 });
	});
	const server = app.listen(0, "127.0.0.1");
	await once(server, "listening");
	const answer = await fetch(
		`http://127.0.0.1:${server.address().port}/twice`, {
			method: "POST",
			headers: { "Content-Type": "application/json" },
			body: JSON.stringify({ number: 21 }),
		});
	assert.deepEqual(await answer.json(), { twice: 42 });
	server.closeAllConnections();
	server.close();
});

test("a program is run", () => {
	const done = spawn.sync(process.execPath,
		["-p", "process.cwd()"], { encoding: "utf8" });
	assert.equal(done.status, 0, done.stderr);
	assert.equal(done.stdout.trim(), process.cwd());
});

test("a thread is started", async () => {
	const worker = new Worker(
		"require('worker_threads').parentPort.postMessage('here')",
		{ eval: true });
	assert.deepEqual(await once(worker, "message"), ["here"]);
});

test("a file is watched", async () => {
	const place = mkdtempSync(join(tmpdir(), "watched-"));
	const watcher = watch(place);
	const change = once(watcher, "change");
	writeFileSync(join(place, "file"), "x");
	assert.equal((await change)[1], "file");
	watcher.close();
	rmSync(place, { recursive: true });
});

test("a tool is called", async () => {
	const server = new McpServer({ name: "work", version: "1.0.0" });
	server.registerTool("add", { inputSchema: { a: z.number() } },
		({ a }) => ({ content: [{ type: "text", text: `${a + 1}` }] }));
	const client = new Client({ name: "test", version: "1.0.0" });
	const [one, other] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(one), client.connect(other)]);
	const result = await client.callTool(
		{ name: "add", arguments: { a: 41 } });
	assert.equal(result.content[0].text, "42");
	await client.close();
});
