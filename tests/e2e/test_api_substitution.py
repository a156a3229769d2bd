"""Substitutions of a sandbox's credential vault: what a request holds in the
place of a value, and what its origin gets. The origin is beyond a proxy of the
gateway's, since nothing of a sandbox may go to this host."""
import base64
import json
import socket
import threading

import openapi
import pytest
from api import Api, install_sdk
from keyed_origin import KeyedOrigin

HOST = "good.example"
EGRESS = 18080
KEY = "canary/key+that is kept: 5f1c9e7a&b"
PERCENT = "canary%2Fkey%2Bthat%20is%20kept%3A%205f1c9e7a%26b"
PLACE = "MY_OWN-KEY.1"


def pump(one, other):
    try:
        while piece := one.recv(65536):
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Beyond:
    """A proxy that knows one origin, whatever it is asked for."""

    def __init__(self, address, to):
        self.to = to
        self.listener = socket.create_server((address, 0), backlog=50)
        self.url = "http://%s:%d" % self.listener.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(stream,),
                             daemon=True).start()

    def _one(self, stream):
        head = b""
        with stream, socket.create_connection(self.to, 30) as origin:
            while b"\r\n\r\n" not in head:
                head += stream.recv(65536)
            stream.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(origin, stream),
                                    daemon=True)
            back.start()
            pump(stream, origin)
            back.join()

    def stop(self):
        self.listener.close()


@pytest.fixture(scope="module")
def upstream(origin, pki):
    upstream = KeyedOrigin(origin.address, pki[0][HOST])
    yield upstream
    upstream.stop()


@pytest.fixture(scope="module")
def gateway(make_gateway, origin, upstream):
    beyond = Beyond(origin.address, (origin.address, upstream.port))
    gateway = make_gateway("beyond", secret=False, config={
        "upstream_proxy": {"url": beyond.url}})
    yield gateway
    gateway.stop()
    gateway.check()
    beyond.stop()


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def box(api):
    return api.make(networkPolicy={"egress": [
        {"action": "allow", "target": HOST}]}, env={"MY_KEY": PLACE})


@pytest.fixture
def call(api, box, upstream):
    """To the egress API of the box, which has no vault then."""
    def call(method, path, body=None):
        answer = api.inside(method, box, path, body, port=EGRESS)
        openapi.check(method, f"/v1/sandboxes/{box}/egress{path}", answer)
        return answer
    upstream.seen.clear()
    yield call
    call("DELETE", "/credential-vault")


@pytest.fixture
def curl(api, box):
    def curl(words):
        answer = api.inside("POST", box, "/command", {
            "command": f"curl -sS -m 30 {words}"})
        assert answer.status == 200, answer
        return answer.body.decode()
    return curl


def substitution(*places, **more):
    return {"credential": "key", "placeholder": PLACE,
            "in": list(places), **more}


def vault(*all_of_them, auth=None, match=(), name="b"):
    return {"credentials": [
                {"name": "key", "source": {"type": "inline", "value": KEY}},
                {"name": "spare", "source": {"type": "inline",
                                             "value": "other"}}],
            "bindings": [{
                "name": name, "match": {"hosts": [HOST], **dict(match)},
                "auth": {**(auth or {"type": "passthrough"}),
                         "substitutions": list(all_of_them)}}]}


# ---- what the origin gets ----

@pytest.mark.parametrize("places, words, got", [
    (["header"], f"-H 'X-Key: a {PLACE}!' https://{HOST}/a",
     lambda seen: seen.headers["x-key"] == f"a {KEY}!"),
    (["header"], f"-u me:{PLACE} https://{HOST}/a",
     lambda seen: base64.b64decode(
         seen.headers["authorization"].removeprefix("Basic ")) ==
     f"me:{KEY}".encode()),
    (["path"], f"https://{HOST}/v1/{PLACE}/x",
     lambda seen: seen.target == f"/v1/{PERCENT}/x"),
    (["query"], f"'https://{HOST}/a?x=1&key={PLACE}'",
     lambda seen: seen.target == f"/a?x=1&key={PERCENT}"),
    (["body"], "-H 'Content-Type: application/json' "
     f"-d '{{\"key\": \"{PLACE}\"}}' https://{HOST}/a",
     lambda seen: json.loads(seen.body) == {"key": KEY}),
    (["body"], f"-d 'a=b&key={PLACE}' https://{HOST}/a",
     lambda seen: seen.body.decode() == f"a=b&key={PERCENT}"),
    (["header", "path", "query", "body"],
     f"-H 'X-Key: {PLACE}' -d x={PLACE} 'https://{HOST}/{PLACE}?k={PLACE}'",
     lambda seen: (seen.headers["x-key"], seen.target, seen.body.decode()) ==
     (KEY, f"/{PERCENT}?k={PERCENT}", f"x={PERCENT}")),
], ids=lambda value: "" if callable(value) else str(value)[:30])
def test_the_origin_gets_the_value(call, curl, upstream, places, words, got):
    assert curl(words).find("egress denied") < 0
    without = upstream.seen.pop()  # the twin: nothing is put in its place
    assert not got(without) and KEY not in str(vars(without))
    assert call("POST", "/credential-vault",
                vault(substitution(*places))).status == 201
    assert KEY not in curl(words)
    assert got(upstream.seen.pop())
    assert call("DELETE", "/credential-vault").status == 204
    assert "egress denied" not in curl(words)
    assert not got(upstream.seen.pop())


def test_elsewhere_it_is_refused(call, curl, upstream):
    assert call("POST", "/credential-vault",
                vault(substitution("header"))).status == 201
    for words in (f"https://{HOST}/{PLACE}", f"https://{HOST}/?a={PLACE}",
                  f"-d {PLACE} https://{HOST}/"):
        assert "placeholder_not_allowed" in curl(words)
    assert not upstream.seen
    assert "placeholder_not_allowed" not in curl(
        f"-H 'X-Key: {PLACE}' https://{HOST}/")
    assert upstream.seen.pop().headers["x-key"] == KEY


def test_it_goes_beside_the_same_credential_of_auth(call, curl, upstream):
    made = vault(substitution("query"),
                 auth={"type": "apiKey", "name": "X-Api-Key",
                       "credential": "key"})
    assert call("POST", "/credential-vault", made).status == 201
    curl(f"'https://{HOST}/a?key={PLACE}'")
    seen = upstream.seen.pop()
    assert seen.headers["x-api-key"] == KEY
    assert seen.target == f"/a?key={PERCENT}"


def test_one_text_may_stand_for_several(call, curl, upstream):
    made = vault(substitution("header"), match={"paths": ["/a/*"]})
    more = vault(substitution("header", credential="spare"),
                 match={"paths": ["/b/*"]}, name="c")
    made["bindings"] += more["bindings"]
    assert call("POST", "/credential-vault", made).status == 201
    for path, value in (("/a/x", KEY), ("/b/x", "other")):
        curl(f"-H 'X-Key: {PLACE}' https://{HOST}{path}")
        assert upstream.seen.pop().headers["x-key"] == value


# ---- what is none ----

@pytest.mark.parametrize("body, told", [
    (vault(substitution("header", credential="none")), "not there"),
    (vault(substitution("header", placeholder="SHORT-7")), "8 to 128"),
    (vault(substitution("header", placeholder="x" * 129)), "8 to 128"),
    (vault(substitution("header", placeholder="{{MY_KEY}}")), "digits"),
    (vault(substitution("header", placeholder="ceholder_")), "begin so"),
    (vault(substitution("header", placeholder=7)), "8 to 128"),
    (vault(substitution()), "in what"),
    (vault(substitution("cookie")), "alone"),
    (vault(substitution(["path"])), "alone"),
    (vault(substitution("header", more=1)), "{credential, placeholder, in}"),
    (vault({"placeholder": PLACE, "in": ["path"]}), "{credential"),
    (vault(substitution("path"), substitution("query")), "one for a binding"),
    (vault(substitution("path"), auth={"type": "bearer",
                                       "credential": "spare"}),
     "carries one"),
    (vault(substitution("path"), match={"hosts": ["uncovered.example"]}),
     "no allow rule"),
    ({**vault(), "bindings": 2 * vault(substitution("path"))["bindings"]},
     "there is a binding"),
], ids=lambda value: str(value)[-60:])
def test_what_is_no_substitution_is_refused_with_words(call, body, told):
    answer = call("POST", "/credential-vault", body)
    assert answer.status in (400, 409), answer
    assert told in answer.json["message"]
    assert KEY not in answer.body.decode()
    assert call("GET", "/credential-vault").status == 404


def test_two_texts_of_which_one_holds_the_other_are_refused(call):
    made = vault(substitution("header"), match={"paths": ["/a/*"]})
    more = vault(substitution("header", placeholder=PLACE + "x"),
                 match={"paths": ["/b/*"]}, name="c")
    made["bindings"] += more["bindings"]
    answer = call("POST", "/credential-vault", made)
    assert answer.status == 400 and "is a part of" in answer.json["message"]
    made["bindings"].pop()
    assert call("POST", "/credential-vault", made).status == 201


def test_a_credential_that_a_substitution_needs_stays(call):
    assert call("POST", "/credential-vault",
                vault(substitution("path"))).status == 201
    kept = call("PATCH", "/credential-vault",
                {"credentials": {"delete": ["key"]}})
    assert kept.status == 400
    assert call("PATCH", "/credential-vault",
                {"credentials": {"delete": ["spare"]}}).status == 200


def test_the_sdk_makes_one_and_no_answer_tells_the_value(
        api, call, box, curl, upstream, tmp_path):
    said = api.node(install_sdk(tmp_path), """
const box = await Sandbox.connect({ sandboxId: process.argv[2],
                                    connectionConfig: connection });
const made = await box.credentialVault.create(JSON.parse(process.argv[3]));
const shown = await box.credentialVault.getBinding("b");
console.log(JSON.stringify({ made, shown }));
""", box, json.dumps(vault(substitution("header"))))
    assert said["shown"]["auth"] == {"type": "passthrough"}
    assert "canary" not in json.dumps(said)
    assert "canary" not in api.log() + api.gateway.log()
    curl(f'-H "X-Key: $MY_KEY" https://{HOST}/')
    assert upstream.seen.pop().headers["x-key"] == KEY
