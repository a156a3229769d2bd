"""gRPC with a credential: Google's client and server, the token between."""
import base64
import concurrent.futures
import os
import threading

import grpc
import pytest
from gateway import wait_until
from origin import free_port
from taint import Search, memory_of
from test_crash import kill
from test_grpc import credentials_of

HOST = "good.example"
TOKEN = "not-a-real-token-0123456789abcdefghijklmnopqrstuvw-grpc"
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED


def fields_of(context):
    return {field.key: field.value
            for field in context.invocation_metadata()}


class Service(grpc.GenericRpcHandler):
    """Serves who brings the token; says what it is asked to say."""

    def __init__(self):
        self.seen = []
        self.open = set()
        self.release = threading.Event()

    def service(self, details):
        kinds = {"Unary": (grpc.unary_unary_rpc_method_handler, self.unary),
                 "Down": (grpc.unary_stream_rpc_method_handler, self.down),
                 "Up": (grpc.stream_unary_rpc_method_handler, self.up),
                 "Both": (grpc.stream_stream_rpc_method_handler, self.both)}
        make, serve = kinds[details.method.rpartition("/")[2]]
        return make(serve)

    def check(self, context):
        fields = fields_of(context)
        self.seen.append(fields)
        if fields.get("authorization") != f"Bearer {TOKEN}":
            context.abort(UNAUTHENTICATED, "who are you?")

    def unary(self, request, context):
        self.check(context)
        word = fields_of(context).get("x-say", "")
        if word == "fail":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION,
                          "not in the mood")
        if word == "header":
            context.send_initial_metadata((("x-was", TOKEN),))
        if word == "trailer":
            context.set_trailing_metadata((("grpc-was", TOKEN),))
        if word == "binary trailer":
            context.set_trailing_metadata((("grpc-was-bin",
                                            TOKEN.encode()),))
        if word == "message":
            context.abort(grpc.StatusCode.ABORTED, f"no {TOKEN}, no")
        if word == "body":
            return f"<{TOKEN}>".encode()
        if word == "base64":
            return base64.b64encode(TOKEN.encode())
        return b"got " + request

    def down(self, request, context):
        self.check(context)
        if request == b"hang":
            # A call that ends while "first" is sent never comes back here.
            self.open.add(context)
            try:
                yield b"first"
                wait_until(lambda: not context.is_active(), 60)
            finally:
                self.open.discard(context)
            return
        if request == b"fail late":
            yield b"first"
            context.set_trailing_metadata((("grpc-was", "late"),))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION,
                          "not in the mood")
        if request == b"pieces":
            # Each character is a message, a DATA frame's worth.
            for character in TOKEN:
                yield character.encode()
            return
        for i in range(int(request)):
            yield b"%d" % i * 1000

    def up(self, requests, context):
        self.check(context)
        return b"%d" % sum(len(request) for request in requests)

    def both(self, requests, context):
        self.check(context)
        for request in requests:
            yield b"echo " + request


@pytest.fixture(scope="module")
def service():
    return Service()


@pytest.fixture(scope="module")
def server(origin, pki, service):
    port = free_port(origin.address)
    chain, key = credentials_of(pki)
    made = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
    made.add_generic_rpc_handlers((service,))
    made.add_secure_port(f"{origin.address}:{port}",
                         grpc.ssl_server_credentials([(key, chain)]))
    made.start()
    yield port
    made.stop(None)


@pytest.fixture
def channel(make_session, policies, server, gateway):
    """A channel through the gateway; credential: None for none."""
    made = []

    def make(credential="bearer", secret=TOKEN, methods=("POST",), **more):
        rule = policies.rule(HOST, ports=[server], methods=list(methods))
        policy = policies.make([rule])
        gateway.put_secret("grpc", secret)
        if credential:
            rule["credential"] = "c"
            policy["credentials"] = [{"name": "c", "secret": "grpc",
                                      "attach": credential, "hosts": [HOST],
                                      **more}]
        session = make_session(policy)
        made.append(grpc.secure_channel(
            f"{HOST}:{server}",
            grpc.ssl_channel_credentials(session.ca.read_bytes()),
            options=[("grpc.http_proxy", session.proxy),
                     ("grpc.primary_user_agent", "twin")]))
        made[-1].session = session
        return made[-1]
    yield make
    for one in made:
        one.close()


def call(channel, request=b"this", say="", timeout=30, **more):
    metadata = [*more.items(), *([("x-say", say)] if say else [])]
    return channel.unary_unary("/test.Echo/Unary").with_call(
        request, timeout=timeout, metadata=metadata)


def failure(*args, **more):
    with pytest.raises(grpc.RpcError) as caught:
        call(*args, **more)
    return caught.value


# ---- what works ----

def test_a_call_carries_the_credential(channel, service):
    one = channel()
    assert call(one)[0] == b"got this"
    row = one.session.row("secret.use")
    assert row["credential"] == "c" and row["path"] == "/test.Echo/Unary"
    assert row["method"] == "POST" and row["host"] == HOST
    assert one.session.row("request", path="/test.Echo/Unary")["allowed"]
    fields = service.seen[-1]
    # What would be compressed could not be searched.
    assert "grpc-accept-encoding" not in fields
    assert fields["user-agent"].startswith("twin")


def test_without_the_credential_the_server_says_no(channel):
    """The twin: it is the credential that opens the door."""
    one = channel(credential=None)
    assert failure(one).code() == UNAUTHENTICATED
    assert not one.session.audit("secret.use")


def test_a_sandboxs_own_credential_is_replaced(channel, service):
    mine = "Bearer not-a-real-token-of-the-sandbox"
    assert call(channel(), authorization=mine)[0] == b"got this"
    assert service.seen[-1]["authorization"] == f"Bearer {TOKEN}"
    assert failure(channel(credential=None),
                   authorization=mine).code() == UNAUTHENTICATED
    assert service.seen[-1]["authorization"] == mine


def test_a_header_of_its_own_carries_it_as_well(channel, service):
    one = channel("header", header={"name": "X-Api-Key", "format": "k %s"})
    assert failure(one).code() == UNAUTHENTICATED
    assert service.seen[-1]["x-api-key"] == f"k {TOKEN}"


def test_large_messages_pass(channel):
    one = channel()
    assert call(one, b"x" * 3000000)[0] == b"got " + b"x" * 3000000


def test_an_error_status_passes(channel):
    error = failure(channel(), say="fail")
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert error.details() == "not in the mood"


def test_a_server_streams(channel):
    got = list(channel().unary_stream("/test.Echo/Down")(b"500", timeout=60))
    assert got == [b"%d" % i * 1000 for i in range(500)]


def test_a_client_streams(channel):
    sent = [b"x" * 10000] * 300
    got = channel().stream_unary("/test.Echo/Up")(iter(sent), timeout=60)
    assert got == b"3000000"


def test_both_sides_stream_at_the_same_time(channel):
    def ask():
        for i in range(5):
            yield b"%d" % i
            # The next is asked once this one is answered.
            wait_until(lambda i=i: len(got) > i)

    got = []
    for answer in channel().stream_stream("/test.Echo/Both")(ask(),
                                                             timeout=60):
        got.append(answer)
    assert got == [b"echo %d" % i for i in range(5)]


def test_calls_follow_each_other_and_run_beside_each_other(channel, gateway):
    """One process decodes for all of them."""
    one = channel()
    for i in range(10):
        assert call(one, b"%d" % i)[0] == b"got %d" % i
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda i: call(one, b"%d" % i)[0],
                                range(30)))
    assert answers == [b"got %d" % i for i in range(30)]
    framers = [process for process in gateway.status()["processes"]
               if process["role"] == "framer"
               and process["session"] == one.session.id]
    assert len(framers) == 1
    wait_until(lambda: len(one.session.audit("secret.use")) == 40)


def test_the_trailers_of_a_call_are_its_own(channel):
    """A kept leg, one call after the other: a status behind messages comes
    in a section of its own."""
    one = channel()
    down = one.unary_stream("/test.Echo/Down")
    for _ in range(3):
        late = down(b"fail late", timeout=60)
        with pytest.raises(grpc.RpcError):
            list(late)
        assert late.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert [tuple(field) for field in late.trailing_metadata()] == \
            [("grpc-was", "late")]
        good = down(b"1", timeout=60)
        assert list(good) == [b"0" * 1000]
        assert good.code() == grpc.StatusCode.OK
        assert not good.details() and not good.trailing_metadata()


def test_a_deadline_passes(channel, service):
    one = channel()
    stream = one.unary_stream("/test.Echo/Down")(b"hang", timeout=1)
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_until(lambda: not service.open)
    assert call(one)[0] == b"got this"


def test_other_requests_with_it_stay_on_http_1_1(channel, server, gateway):
    """gRPC's server speaks nothing but HTTP/2."""
    one = channel(methods=["GET"])
    answer = one.session.curl(f"https://{HOST}:{server}/", "--http2")
    assert answer.status == 502, (answer.text, gateway.log()[-3000:])
    assert not gateway.pid("framer", one.session.id)


# ---- what comes back ----

@pytest.mark.parametrize("where", ["header", "trailer", "binary trailer",
                                   "message", "body", "base64"])
def test_a_credential_that_comes_back_is_cut_off(channel, where):
    one = channel()
    error = failure(one, say=where)
    shown = str(error.details()) + str(error.initial_metadata()) + \
        str(error.trailing_metadata())
    assert TOKEN not in shown and TOKEN[10:30] not in shown
    row = one.session.row("secret.reflected",
                          constraint="credential_reflected")
    assert row["credential"] == "c" and row["host"] == HOST
    assert call(one)[0] == b"got this"


@pytest.mark.parametrize("where", ["header", "trailer", "message", "body"])
def test_a_credential_that_comes_back_is_overwritten(channel, where):
    stars = "*" * len(TOKEN)
    one = channel(scrub=True)
    if where == "message":
        assert failure(one, say=where).details() == f"no {stars}, no"
    else:
        body, done = call(one, say=where)
        assert body == (f"<{stars}>".encode() if where == "body"
                        else b"got this")
        if where == "header":
            assert dict(done.initial_metadata())["x-was"] == stars
        if where == "trailer":
            assert dict(done.trailing_metadata())["grpc-was"] == stars
    assert one.session.row("secret.reflected")


def test_a_credential_that_comes_back_stops_the_session(channel):
    one = channel(scrub={"on-reflection": "stop"})
    failure(one, say="body")
    assert one.session.row("session.ended")["detail"] == \
        "credential_reflected"


def test_what_is_no_credential_comes_back(channel):
    one = channel(credential=None)
    _, done = call(one, say="header", authorization=f"Bearer {TOKEN}")
    assert dict(done.initial_metadata())["x-was"] == TOKEN
    assert not one.session.audit("secret.reflected")


# ---- who holds it ----

def neither_framer_nor_edge_holds_it(channel, gateway):
    """In a stream that goes on, and in the memory of what went before."""
    one, go_on = channel(), threading.Event()

    def ask():
        yield b"this"
        go_on.wait(60)

    assert call(one)[0] == b"got this"
    stream = one.stream_stream("/test.Echo/Both")(ask(), timeout=60)
    assert next(stream) == b"echo this"
    search = Search(token=TOKEN, session=one.session.id)
    found = {role: {hit for data in memory_of(
                        gateway.pid(role, one.session.id))
                    for hit in search.find(data)}
             for role in ("framer", "edge")}
    go_on.set()
    assert list(stream) == []
    # Nothing but what each knows.
    assert found == {"framer": {"session (plain)"},
                     "edge": {"session (plain)"}}


if os.geteuid() == 0:  # nobody else may look
    test_neither_framer_nor_edge_holds_it = neither_framer_nor_edge_holds_it


# ---- the end ----

def test_a_revoked_session_ends_a_stream(channel, service, gateway):
    one = channel()
    stream = one.unary_stream("/test.Echo/Down")(b"hang", timeout=60)
    assert next(stream) == b"first"
    assert service.open
    gateway.call("DELETE", f"/v1/sessions/{one.session.id}")
    with pytest.raises(grpc.RpcError):
        next(stream)
    wait_until(lambda: not service.open)
    wait_until(lambda: not gateway.pid("framer", one.session.id))


def test_a_session_that_lives_keeps_its_stream(channel, service, gateway):
    """The twin."""
    one, other = channel(), channel()
    stream = one.unary_stream("/test.Echo/Down")(b"hang", timeout=60)
    assert next(stream) == b"first"
    gateway.call("DELETE", f"/v1/sessions/{other.session.id}")
    assert call(one)[0] == b"got this"
    assert service.open and gateway.pid("framer", one.session.id)
    stream.cancel()
    wait_until(lambda: not service.open)


def test_a_framer_that_dies_ends_what_it_decoded(channel, gateway):
    one = channel()
    stream = one.unary_stream("/test.Echo/Down")(b"hang", timeout=60)
    assert next(stream) == b"first"
    kill(gateway, "framer", one.session.id)
    with pytest.raises(grpc.RpcError):
        next(stream)
    assert call(one)[0] == b"got this"


def test_the_framer_goes_with_the_last_connection(channel, gateway):
    one = channel()
    stream = one.unary_stream("/test.Echo/Down")(b"hang", timeout=60)
    assert next(stream) == b"first"
    assert gateway.pid("framer", one.session.id)
    stream.cancel()
    wait_until(lambda: not gateway.pid("framer", one.session.id))
    assert call(one)[0] == b"got this"
