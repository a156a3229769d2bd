"""A WebSocket whose handshake carries a credential: a real server wants the
token, the sandbox never has it, and the connection is good for nothing
else."""
import asyncio
import contextlib
import ssl
import threading
import time
from http import HTTPStatus

import pytest
import websocket
import websockets
from gateway import wait_until
from origin import free_port
from session import read_head
from test_crash import is_back, kill
from websocket import TEXT
# The interface that Debian 12 has; later versions keep it by this name.
from websockets.legacy.client import connect
from websockets.legacy.server import serve

HOST = "good.example"
TOKEN = "not-a-real-token-0123456789-websocket"


class Server:
    """The websockets library; who has no token gets 401."""

    def __init__(self, address, pem):
        self.port = free_port(address)
        self.handshakes = []  # fields of each that came
        self.open = set()
        self.over = 0
        self.loop = asyncio.new_event_loop()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._thread = threading.Thread(target=self.loop.run_forever,
                                        daemon=True)
        self._thread.start()
        self._server = self.do(self._start(address, context))

    async def _start(self, address, context):
        return await serve(
            self._serve, address, self.port, ssl=context,
            subprotocols=["chat"], process_request=self._request)

    def do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    async def _request(self, path, fields):
        self.handshakes.append(fields)
        if fields.get("Authorization") != f"Bearer {TOKEN}":
            return HTTPStatus.UNAUTHORIZED, {"Content-Type": "text/plain"}, b"who are you?\n"
        if path == "/none":
            return HTTPStatus.OK, {"Content-Type": "text/plain"}, b"no WebSocket\n"
        return None

    async def _serve(self, connection, path):
        self.open.add(connection)
        try:
            async for message in connection:
                if message.startswith("reflect"):
                    said = connection.request_headers["Authorization"]
                    # A list is sent as one message, a frame for each.
                    step = int(message.partition("/")[2] or len(said))
                    message = [said[at:at + step]
                               for at in range(0, len(said), step)]
                await connection.send(message)
        except websockets.ConnectionClosed:
            pass
        finally:
            self.open.discard(connection)
            self.over += 1

    def stop(self):
        async def close():
            self._server.close()
            await self._server.wait_closed()
        self.do(close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(20)
        self.loop.close()


@pytest.fixture(scope="module")
def server(origin, pki):
    server = Server(origin.address, pki[0][HOST])
    yield server
    server.stop()


@pytest.fixture
def web(make_session, policies, server, gateway):
    """A session with a rule for WebSockets, and one for requests, both with
    the credential where a secret is named."""
    def make(secret="ws", on=None, allowed=True):
        (on or gateway).put_secret("ws", TOKEN)
        (on or gateway).put_secret("wrong", "not-a-real-token-that-fits")
        rule = policies.rule(HOST, ports=[server.port], methods=["GET"])
        if allowed:
            rule["websocket"] = {}
        policy = policies.make([rule])
        if secret:
            rule["credential"] = "c"
            policy["credentials"] = [{"name": "c", "secret": secret,
                                      "attach": "bearer", "hosts": [HOST]}]
        return make_session(policy, on=on)
    return make


@contextlib.asynccontextmanager
async def dialled(session, server, path="/chat", **more):
    """The websockets library's client, through CONNECT."""
    plain = session.connect()
    plain.sendall(f"CONNECT {HOST}:{server.port} HTTP/1.1\r\n"
                  f"Host: {HOST}:{server.port}\r\n\r\n".encode())
    read_head(plain)
    context = ssl.create_default_context(cafile=session.ca)
    async with connect(
            f"wss://{HOST}:{server.port}{path}", sock=plain, ssl=context,
            server_hostname=HOST, open_timeout=30, **more) as client:
        yield client


def refusal(session, server, path="/chat", **more):
    """The status that the handshake is answered with."""
    async def talk():
        async with dialled(session, server, path, **more):
            pass
    with pytest.raises(websockets.InvalidStatusCode) as caught:
        asyncio.run(talk())
    return caught.value


# ---- allowed ----

def test_a_server_that_wants_the_token_gets_it(web, server):
    async def talk():
        async with dialled(session, server, subprotocols=["chat"],
                           extra_headers={"Authorization": "Bearer mine",
                                          "Cookie": "a=b",
                                          "X-Mine": "yes"}) as client:
            assert client.subprotocol == "chat"
            for message in ("hello", "x" * 200000, ""):
                await client.send(message)
                assert await client.recv() == message
            texts = [f"message {i}" for i in range(200)]
            for text in texts:
                await client.send(text)
            assert [await client.recv() for _ in texts] == texts
            assert TOKEN not in str(client.response_headers)

    session = web()
    asyncio.run(talk())
    seen = server.handshakes[-1]
    assert seen["Authorization"] == f"Bearer {TOKEN}"
    assert seen["X-Mine"] == "yes"
    for name in ("Cookie", "Sec-WebSocket-Extensions"):
        assert name not in seen
    assert seen["Accept-Encoding"] == "identity"
    assert session.row("secret.use", credential="c")["detail"] == "websocket"
    assert session.row("request", credential="c")["allowed"]
    assert TOKEN not in str(session.audit())


def test_without_the_credential_the_server_sends_it_away(web, server):
    """The twin: then the client's own fields pass, and are not enough."""
    session = web(secret=None)
    assert refusal(session, server, extra_headers={
        "Authorization": "Bearer mine"}).status_code == 401
    assert server.handshakes[-1]["Authorization"] == "Bearer mine"
    assert not session.audit("secret.use")


def test_an_answer_that_is_none_passes_once_and_is_the_last(web, server):
    session = web(secret="wrong")
    with session.connect_tls(HOST, server.port) as stream:
        client = websocket.Client(stream, f"{HOST}:{server.port}", "/chat",
                                  early=b"GET /smuggled HTTP/1.1\r\n\r\n")
        assert client.status == 401, client.head
        rest = b""
        while part := stream.recv(1000):
            rest += part
        assert rest == b"who are you?\n"
    # A 2xx is no WebSocket either.
    assert refusal(web(), server, "/none").status_code == 200
    assert all(fields.get("Upgrade") for fields in server.handshakes)


def test_each_websocket_is_a_use_of_its_own(web, server):
    async def talk():
        async with dialled(session, server) as one:
            async with dialled(session, server) as other:
                await other.send("two")
                assert await other.recv() == "two"
            await one.send("one")
            assert await one.recv() == "one"

    session = web()
    before = len(server.handshakes)
    asyncio.run(talk())
    assert len(server.handshakes) == before + 2
    assert len(session.audit("secret.use")) == 2


# ---- denied ----

def test_a_rule_without_websocket_allows_none(web, server):
    before = len(server.handshakes)
    session = web(allowed=False)
    assert refusal(session, server).status_code == 403
    assert session.row("request", constraint="websocket_not_allowed")
    assert len(server.handshakes) == before
    assert not session.audit("secret.use")


def test_a_message_that_breaks_the_rule_does_not_leave(web, server):
    async def talk():
        async with dialled(session, server) as client:
            await client.send("fine")
            assert await client.recv() == "fine"
            await client.send(b"binary")
            await client.recv()

    session = web()
    with pytest.raises(websockets.ConnectionClosedError) as caught:
        asyncio.run(talk())
    assert caught.value.rcvd.code == 1008
    assert session.row("response", constraint="websocket_message")


@pytest.mark.parametrize("way", ["reflect", "reflect/20", "reflect/3",
                                 "reflect/1"])
def test_a_token_that_comes_back_does_not_arrive(web, server, way):
    """In one frame, or across frames of a message."""
    async def talk():
        async with dialled(session, server) as client:
            await client.send("hello")
            got.append(await client.recv())
            await client.send(way)
            got.append(await client.recv())

    got = []
    session = web()
    with pytest.raises(websockets.ConnectionClosed):
        asyncio.run(talk())
    assert got == ["hello"]
    row = session.row("secret.reflected",
                      constraint="credential_reflected")
    assert row["detail"] == "cut off"
    wait_until(lambda: not server.open)


@pytest.mark.parametrize("kind", ["no-accept", "wrong-accept", "extension"])
def test_a_false_101_is_none(make_session, policies, gateway, origin, kind):
    gateway.put_secret("ws", TOKEN)
    policy = policies.make([policies.rule(
        HOST, ports=[origin.port], credential="c", websocket={})])
    policy["credentials"] = [{"name": "c", "secret": "ws", "attach": "bearer",
                              "hosts": [HOST]}]
    session = make_session(policy)
    mark = len(origin.tls.frames)
    for path, status in ((kind, 502), ("echo", 101)):
        with session.connect_tls(HOST, origin.port) as stream:
            client = websocket.Client(stream, HOST + origin.suffix,
                                      f"/ws/{path}",
                                      early=websocket.frame(TEXT, b"early"))
            assert client.status == status, client.head
            if status == 101:  # the twin
                assert client.receive() == (TEXT, b"early")
    frames = [f for f in origin.tls.frames[mark:] if isinstance(f, tuple)]
    assert [f[2] for f in frames if f[0] == TEXT] == [b"early"]


# ---- the end ----

def until_closed(server, session, spoil):
    """Talk, spoil it, and give back when the client heard of it."""
    async def talk():
        async with dialled(session, server) as client:
            await client.send("hello")
            assert await client.recv() == "hello"
            await asyncio.get_running_loop().run_in_executor(None, spoil)
            began = time.monotonic()
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.wait_for(client.recv(), 30)
            return time.monotonic() - began
    return asyncio.run(talk())


def test_the_end_of_the_session_ends_it(web, server, gateway):
    session = web()
    until_closed(server, session, lambda: gateway.end(session.id))
    wait_until(lambda: not server.open)


def test_a_courier_that_dies_takes_it_along_and_the_next_works(
        web, server, own_gateway):
    session = web(on=own_gateway)
    old = []
    until_closed(server, session,
                 lambda: old.append(kill(own_gateway, "courier")))
    wait_until(lambda: not server.open)
    is_back(own_gateway, "courier", old[0])

    async def talk():
        async with dialled(session, server) as client:
            await client.send("again")
            return await client.recv() == "again"

    def works():
        # The edge may not have met the new courier yet.
        try:
            return asyncio.run(talk())
        except websockets.InvalidStatusCode:
            return False
    wait_until(works, 30)
    assert len(session.audit("secret.use")) == 2
