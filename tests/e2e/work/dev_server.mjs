// A development server: it serves a page, and tells who has it open, over a
// WebSocket, what the page became when it is changed.
import { createHash } from "node:crypto";
import { readFileSync, watch } from "node:fs";
import { createServer } from "node:http";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [page, port] = process.argv.slice(2);
const open = new Set();

function frame(text) {
	const bytes = Buffer.from(text);
	return Buffer.concat([Buffer.from([0x81, bytes.length]), bytes]);
}

const server = createServer((request, response) => {
	response.setHeader("Content-Type", "text/html");
	response.end(readFileSync(page));
});

server.on("upgrade", (request, socket) => {
	const accept = createHash("sha1")
		.update(request.headers["sec-websocket-key"] + MAGIC)
		.digest("base64");
	socket.on("error", () => {});
	socket.on("close", () => open.delete(socket));
	socket.write("HTTP/1.1 101 Switching Protocols\r\n" +
		"Upgrade: websocket\r\nConnection: Upgrade\r\n" +
		`Sec-WebSocket-Accept: ${accept}\r\n\r\n`);
	open.add(socket);
	socket.write(frame("connected"));
	// A short text of the page's.
	socket.on("data", (data) => {
		const text = data.subarray(6, 6 + (data[1] & 127))
			.map((byte, at) => byte ^ data[2 + at % 4]);
		socket.write(frame(`heard ${text}`));
	});
});

watch(page, () => {
	for (const socket of open)
		socket.write(frame(readFileSync(page)));
});

server.listen(Number(port), "127.0.0.1");
