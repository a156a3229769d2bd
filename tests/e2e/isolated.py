"""The isolated sessions of one sandbox, asked raw."""
from execd import Execd, told


class Isolated:
    """A sandbox with a file `base`, and its isolated sessions."""

    def __init__(self, host, box):
        self.host, self.box = host, box
        self.execd = Execd(host, box)
        code, lines, _ = self.execd.run("pwd; echo old > base")
        self.path = lines[0]

    def create(self, mode="overlay", status=201, **more):
        return self.execd.json("POST", "/v1/isolated/session", {
            "workspace": {"path": self.path, "mode": mode}, **more}, status)

    def open(self, *words, **more):
        return self.create(*words, **more)["session_id"]

    def run(self, session, code, **more):
        return told(self.execd.stream(f"/v1/isolated/session/{session}/run",
                                      {"code": code, **more}))

    def ask(self, method, session, path="", body=None, status=200):
        return self.execd.json(
            method, f"/v1/isolated/session/{session}{path}", body, status)

    def close(self, session):
        self.execd.ask("DELETE", f"/v1/isolated/session/{session}")


def state(host, box):
    return host.call("GET", f"/v1/sandboxes/{box}").json["status"]["state"]
