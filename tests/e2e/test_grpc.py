"""HTTP/2 to upstreams, for clients that speak it: gRPC from end to end, without
a credential (test_grpc_credential.py)."""
import concurrent.futures
import subprocess

import grpc
import pytest
from gateway import wait_until
from origin import free_port

# gRPC's own codes
DEADLINE_EXCEEDED = grpc.StatusCode.DEADLINE_EXCEEDED


def unary(request, context):
    if request == b"trailers":
        context.set_trailing_metadata((("x-dropped", "1"),
                                       ("grpc-mine", "2")))
    if request == b"fail":
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not in the mood")
    if request == b"wait":
        wait_until(lambda: not context.is_active())
    return b"got " + request


def stream(requests, _context):
    for request in requests:
        yield b"echo " + request


class Service(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == "/test.Echo/Unary":
            return grpc.unary_unary_rpc_method_handler(unary)
        if details.method == "/test.Echo/Stream":
            return grpc.stream_stream_rpc_method_handler(stream)
        return None


@pytest.fixture(scope="module")
def server(origin, pki):
    """A gRPC server at good.example, on a port of its own."""
    port = free_port(origin.address)
    chain, key = credentials_of(pki)
    made = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    made.add_generic_rpc_handlers((Service(),))
    made.add_secure_port(f"{origin.address}:{port}",
                         grpc.ssl_server_credentials([(key, chain)]))
    made.start()
    yield port
    made.stop(None)


def credentials_of(pki):
    pem = pki[0]["good.example"].read_bytes()
    return pem, pem


@pytest.fixture
def channel(make_session, policies, server):
    """A channel through the gateway, to where a rule allows one method."""
    made = []

    def make(paths=("/test.Echo/*",)):
        session = make_session(policies.make([
            policies.rule("good.example", ports=[server], methods=["POST"],
                          paths=list(paths))]))
        made.append(grpc.secure_channel(
            f"good.example:{server}",
            grpc.ssl_channel_credentials(session.ca.read_bytes()),
            options=[("grpc.http_proxy", session.proxy)]))
        made[-1].session = session
        return made[-1]
    yield make
    for one in made:
        one.close()


def call(channel, request, timeout=30):
    return channel.unary_unary("/test.Echo/Unary")(request, timeout=timeout)


def test_a_call_and_its_status_pass(channel):
    one = channel()
    assert call(one, b"this") == b"got this"
    assert call(one, b"x" * 1000000) == b"got " + b"x" * 1000000
    assert one.session.row("request", path="/test.Echo/Unary")["allowed"]


def test_of_trailers_only_those_of_grpc_pass(channel):
    _, done = channel().unary_unary("/test.Echo/Unary").with_call(
        b"trailers", timeout=30)
    assert done.code() == grpc.StatusCode.OK
    assert dict(done.trailing_metadata()) == {"grpc-mine": "2"}


def test_an_error_status_passes(channel):
    with pytest.raises(grpc.RpcError) as caught:
        call(channel(), b"fail")
    assert caught.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert caught.value.details() == "not in the mood"


def test_a_deadline_passes(channel):
    one = channel()
    assert call(one, b"soon") == b"got soon"
    with pytest.raises(grpc.RpcError) as caught:
        call(one, b"wait", timeout=1)
    assert caught.value.code() == DEADLINE_EXCEEDED
    assert call(one, b"again") == b"got again"


def test_both_sides_stream_at_the_same_time(channel):
    def ask():
        for i in range(5):
            yield b"%d" % i
            # The next is asked once this one is answered.
            wait_until(lambda i=i: len(got) > i)

    got = []
    for answer in channel().stream_stream("/test.Echo/Stream")(ask(),
                                                               timeout=60):
        got.append(answer)
    assert got == [b"echo %d" % i for i in range(5)]


def test_a_method_that_no_rule_allows_is_denied(channel):
    one = channel(paths=["/test.Echo/Other"])
    with pytest.raises(grpc.RpcError) as caught:
        call(one, b"this")
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED
    assert one.session.row("request", constraint="path_not_allowed")
    assert call(channel(), b"this") == b"got this", "the twin"


def test_a_hundred_calls_share_a_connection(channel):
    one = channel()
    assert call(one, b"first") == b"got first"
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda i: call(one, b"%d" % i), range(100)))
    assert answers == [b"got %d" % i for i in range(100)]


@pytest.fixture(scope="module")
def nginx(origin, pki, tmp_path_factory):
    """An upstream that speaks HTTP/2 and HTTP/1.1."""
    port = free_port(origin.address)
    home = tmp_path_factory.mktemp("nginx-h2")
    pem = pki[0]["good.example"]
    (home / "big").write_bytes(b"0123456789" * 500000)
    (home / "nginx.conf").write_text(f"""
user root; daemon off; pid {home}/pid; error_log {home}/error.log;
events {{ }}
http {{
  access_log {home}/access.log;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy;
  fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u;
  scgi_temp_path {home}/s;
  server {{
    listen {origin.address}:{port} ssl http2;
    ssl_certificate {pem}; ssl_certificate_key {pem};
    root {home};
    location /protocol {{ return 200 "$server_protocol $http2"; }}
  }}
}}""")
    process = subprocess.Popen(["nginx", "-p", str(home), "-e",
                                str(home / "error.log"), "-c",
                                str(home / "nginx.conf")])
    wait_until(lambda: (home / "pid").exists())
    yield port
    process.terminate()
    process.wait(60)


@pytest.mark.parametrize("client, upstream", [
    ("--http2", "HTTP/2.0"),
    ("--http1.1", "HTTP/1.1"),
])
def test_each_leg_has_its_protocol(make_session, policies, nginx, client,
                                   upstream):
    session = make_session(policies.make([
        policies.rule("good.example", ports=[nginx], paths=["/**"])]))
    url = f"https://good.example:{nginx}"
    answer = session.curl(f"{url}/protocol", client)
    assert answer.status == 200
    assert answer.text.startswith(upstream)
    big = session.curl(f"{url}/big", client)
    assert big.body == b"0123456789" * 500000
    assert session.curl(f"{url}/nothing", client).status == 404
    assert session.curl(f"{url}/big", client, "-I").status == 200
