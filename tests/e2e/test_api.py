"""The lifecycle API of sallyport-host over HTTP, as the unmodified SDK of
OpenSandbox and curl's like use it."""
import pytest
from api import Api, install_sdk


@pytest.fixture(scope="module")
def api(gateway, tmp_path_factory):
    api = Api(gateway, tmp_path_factory.mktemp("api")).start()
    yield api
    api.stop()
    api.check()


@pytest.fixture(scope="module")
def sdk(tmp_path_factory):
    return install_sdk(tmp_path_factory.mktemp("sdk"))


def test_what_is_made_is_shown_and_ended(api):
    box = api.make(metadata={"team": "a"}, timeout=600)
    shown = api.call("GET", f"/v1/sandboxes/{box}").json
    assert shown["status"]["state"] == "Running"
    assert shown["image"] == {"uri": "host"}
    assert shown["metadata"] == {"team": "a"}
    assert shown["entrypoint"] == ["tail", "-f", "/dev/null"]
    assert shown["expiresAt"].endswith("Z")
    listed = api.call("GET", "/sandboxes").json
    assert box in [item["id"] for item in listed["items"]]
    assert api.call("DELETE", f"/v1/sandboxes/{box}").status == 204
    assert api.call("GET", f"/v1/sandboxes/{box}").json[
        "status"]["state"] == "Terminated"
