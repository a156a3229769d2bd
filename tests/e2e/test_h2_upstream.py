"""An upstream of HTTP/2 that drops what it is asked."""
import contextlib
import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import pytest

REFUSED_STREAM = 7


class Dropper:
    """Answers as many requests as it has answers, and resets all others."""

    def __init__(self, address, pem, answers):
        self.answers, self.paths = answers, []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(plain,),
                                 daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError), \
                self.context.wrap_socket(plain, server_side=True) as stream:
            one = h2.connection.H2Connection(
                h2.config.H2Configuration(client_side=False))
            one.initiate_connection()
            stream.sendall(one.data_to_send())
            while data := stream.recv(65536):
                for event in one.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        self._answer(one, event)
                stream.sendall(one.data_to_send())

    def _answer(self, one, event):
        self.paths.append(dict(event.headers)[b":path"].decode())
        if len(self.paths) > self.answers:
            one.reset_stream(event.stream_id, REFUSED_STREAM)
            return
        one.send_headers(event.stream_id, [(":status", "200")],
                         end_stream=True)

    def close(self):
        # Wakes accept(), which close() alone does not.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def dropper(origin, pki):
    made = []

    def make(answers):
        made.append(Dropper(origin.address, pki[0]["good.example"], answers))
        return made[-1]
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("answers, statuses, asked", [
    (2, [200, 200], ["/1", "/2"]),
    # On the connection that was there, then on a new one, and no more.
    (1, [200, 502], ["/1", "/2", "/2"]),
    (0, [502, 502], ["/1", "/2"]),
])
def test_a_request_that_is_dropped_is_asked_once_more_at_most(
        make_session, policies, dropper, answers, statuses, asked):
    server = dropper(answers)
    session = make_session(policies.make([
        policies.rule("good.example", ports=[server.port], paths=["/**"])]))
    got = [session.curl(f"https://good.example:{server.port}{path}",
                        "--http2") for path in ("/1", "/2")]
    assert [one.status for one in got] == statuses
    assert server.paths == asked
    for one in got:
        assert one.status == 200 or \
            one.json["constraint"] == "upstream_closed"
