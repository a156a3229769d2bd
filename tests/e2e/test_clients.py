"""Programs that people use, in a sandbox, as they come: each reaches what is
allowed and is told what is not. And package managers that install a real
package, from doubles of their registries."""
import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile

import pytest

PYTHON = "/usr/bin/python3"
PROXY = "198.18.0.1:3128"
# Each prints the status and the body of what it gets for @, the URL.
URLLIB = """
import sys, urllib.error, urllib.request
try:
    answer = urllib.request.urlopen(sys.argv[1])
except urllib.error.HTTPError as e:
    answer = e
print(answer.status, answer.read().decode())
"""
REQUESTS = """
import sys, requests
answer = requests.get(sys.argv[1])
print(answer.status_code, answer.text)
"""
NODE = """
fetch(process.argv[2]).then(async r => console.log(r.status, await r.text()))
"""
NODE_HTTPS = """
const url = process.argv[2];
require(url.split(":")[0]).get(url, r => {
    let text = "";
    r.on("data", d => text += d);
    r.on("end", () => console.log(r.statusCode, text));
});
"""
JAVA = """
import java.net.URI;
import java.net.http.*;
public class Get {
    public static void main(String[] args) throws Exception {
        var answer = HttpClient.newHttpClient().send(
            HttpRequest.newBuilder(URI.create(args[0])).build(),
            HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
    }
}
"""
JAVA_URL = """
import java.net.*;
public class GetUrl {
    public static void main(String[] args) throws Exception {
        var to = (HttpURLConnection) new URL(args[0]).openConnection();
        int status = to.getResponseCode();
        var from = status < 400 ? to.getInputStream() : to.getErrorStream();
        System.out.println(status + " " + new String(from.readAllBytes()));
    }
}
"""
GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer.StatusCode, string(body))
}
"""
CURL = "curl -sS -o body -w '%{http_code} '"
CLIENTS = {
    "curl": f"{CURL} @ && cat body",
    "curl without proxy": f"{CURL} --noproxy '*' @ && cat body",
    "curl by CONNECT": f"{CURL} --proxytunnel @ && cat body",
    "curl by SOCKS": f"{CURL} -x socks5h://{PROXY} @ && cat body",
    "curl by SOCKS and address":
        f"{CURL} -x socks5://{PROXY} @ && cat body",
    "curl with HTTP/1.0": f"{CURL} -0 --no-alpn @ && cat body",
    "wget": "wget -q -S --content-on-error -O body @ 2>&1"
            " | sed -n 's/^ *HTTP[^ ]* \\([0-9]*\\).*/\\1/p' && cat body",
    "wget without proxy": "wget -q -S --no-proxy --content-on-error -O body"
                          " @ 2>&1 | sed -n "
                          "'s/^ *HTTP[^ ]* \\([0-9]*\\).*/\\1/p' && cat body",
    "python urllib": f"{PYTHON} -c \"$URLLIB\" @",
    "python requests": f"{PYTHON} -c \"$REQUESTS\" @",
    "node fetch": "node get.js @",
    "node http": "node get-https.js @",
    "java HttpClient": "java Get.java @",
    "java HttpsURLConnection": "java GetUrl.java @",
    "go": "./get-go @",
    "go without proxy": "NO_PROXY='*' ./get-go @",
}


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    """A program of Go's own HTTP client, built by GCC's Go."""
    path = tmp_path_factory.mktemp("go")
    (path / "get.go").write_text(GO)
    subprocess.run(["gccgo", "-static-libgo", "-o", path / "get-go",
                    path / "get.go"], check=True, timeout=300)
    return path / "get-go"


@pytest.fixture
def run(gateway, policies, workspace, go):
    def run(script, *rules, timeout=180):
        shutil.copy(go, workspace)
        (workspace / "Get.java").write_text(JAVA)
        (workspace / "GetUrl.java").write_text(JAVA_URL)
        (workspace / "get.js").write_text(NODE)
        (workspace / "get-https.js").write_text(NODE_HTTPS)
        rules = rules or (policies.rule("good.example", "plain.example",
                                        methods=["GET", "HEAD"],
                                        paths=["/chunked", "/files/**",
                                               "/@scope/*"]),)
        return gateway.run(policies.make(rules), script, workspace,
                           timeout=timeout,
                           options=["-e", f"URLLIB={URLLIB}",
                                    "-e", f"REQUESTS={REQUESTS}"])
    return run


def ask(run, client, url):
    done = run(CLIENTS[client].replace("@", url))
    assert done.returncode == 0, done.stderr + done.stdout
    status, text = done.stdout.split(maxsplit=1)
    return int(status), text.strip()


@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_reaches_what_is_allowed(run, origin, client, scheme):
    url = origin.url("/chunked") if scheme == "https" \
        else origin.plain_url("/chunked")
    assert ask(run, client, url) == (200, "one two three")


@pytest.mark.parametrize("scheme", ["https", "http"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_what_is_not(run, origin, client, scheme):
    url = origin.url("/echo") if scheme == "https" \
        else origin.plain_url("/echo")
    status, text = ask(run, client, url)
    assert status == 403
    assert json.loads(text)["constraint"] == "path_not_allowed"


# ---- package managers ----

@pytest.fixture
def files(origin, tmp_path):
    """What the origin serves below /files/."""
    path = tmp_path / "files"
    path.mkdir()
    origin.serve_files(path)
    yield path
    origin.serve_files("")


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return data


def tarball(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def npm_double(origin, files, name):
    """A registry with one package of one version; its URL."""
    package = {"name": name, "version": "1.2.3", "main": "index.js"}
    data = tarball({"package/package.json": json.dumps(package).encode(),
                    "package/index.js": b"module.exports = 'the double';\n"})
    put(files / "tarballs/double-1.2.3.tgz", data)
    package["dist"] = {
        "tarball": origin.url("/files/tarballs/double-1.2.3.tgz"),
        "integrity": "sha512-" + base64.b64encode(
            hashlib.sha512(data).digest()).decode()}
    # npm asks for /@scope%2fname.
    root = files if name.startswith("@") else files / "npm"
    put(root / name, json.dumps(
        {"name": name, "dist-tags": {"latest": "1.2.3"},
         "versions": {"1.2.3": package}}))
    return origin.url("/" if root == files else "/files/npm/")


@pytest.mark.parametrize("name", ["double", "@scope/double"])
def test_npm_installs_a_package(run, origin, files, name):
    registry = npm_double(origin, files, name)
    done = run(f"npm install --no-audit --no-fund --cache ./cache "
               f"--registry {registry} {name} && "
               f"node -p 'require(\"{name}\")'")
    assert done.stdout.splitlines()[-1:] == ["the double"], \
        done.stdout + done.stderr


def test_npm_installs_nothing_that_is_not_allowed(run, origin, files,
                                                  policies):
    registry = npm_double(origin, files, "double")
    done = run(f"npm install --no-audit --no-fund --fetch-retries 0 "
               f"--cache ./cache --registry {registry} double",
               policies.rule("good.example", paths=["/files/npm/**"]))
    assert done.returncode != 0
    assert "403" in done.stderr and "path_not_allowed" in done.stderr


def test_pip_installs_a_package(run, origin, files):
    out = io.BytesIO()
    info = "double-1.2.3.dist-info"
    with zipfile.ZipFile(out, "w") as wheel:
        wheel.writestr("double.py", "said = 'the double'\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\n"
                       "Name: double\nVersion: 1.2.3\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n"
                       "Root-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"double.py,,\n{info}/METADATA,,\n"
                       f"{info}/WHEEL,,\n{info}/RECORD,,\n")
    name = "double-1.2.3-py3-none-any.whl"
    put(files / "wheels" / name, out.getvalue())
    digest = hashlib.sha256(out.getvalue()).hexdigest()
    put(files / "simple/double/index.html",
        f'<a href="/files/wheels/{name}#sha256={digest}">{name}</a>')
    done = run(f"{PYTHON} -m pip install -q --no-cache-dir --target ./lib "
               f"--disable-pip-version-check "
               f"--index-url {origin.url('/files/simple/')} double && "
               f"PYTHONPATH=lib {PYTHON} -c "
               "'import double; print(double.said)'")
    assert done.stdout.strip() == "the double", done.stderr


def deb(tmp_path):
    """A package with one file, made by dpkg-deb."""
    tree = tmp_path / "tree"
    put(tree / "DEBIAN/control",
        "Package: double\nVersion: 1.2.3\nArchitecture: all\n"
        "Maintainer: nobody <nobody@good.example>\nDescription: a double\n")
    put(tree / "usr/share/double/said", "the double\n")
    (tree / "DEBIAN").chmod(0o755)
    path = tmp_path / "double_1.2.3_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, path],
                   check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes(), (tree / "DEBIAN/control").read_text()


APT = """
mkdir -p apt/lists/partial apt/archives/partial apt/root apt/empty
mkdir -p apt/admin/updates apt/admin/info
: > apt/admin/status
echo "deb [trusted=yes] $1 ./" > apt/sources.list
get() {
    apt-get -q -o APT::Sandbox::User=root -o Debug::NoLocking=1 \
        -o Dir::Etc::SourceList="$PWD/apt/sources.list" \
        -o Dir::Etc::SourceParts="$PWD/apt/empty" \
        -o Dir::Etc::Parts="$PWD/apt/empty" \
        -o Dir::State::Lists="$PWD/apt/lists" \
        -o Dir::State::Status="$PWD/apt/admin/status" \
        -o Dir::State="$PWD/apt" -o Dir::Log="$PWD/apt" \
        -o Dir::Cache="$PWD/apt" "$@"
}
get update && cd apt && get -o Dir::Etc::SourceList="$PWD/sources.list" \
    -o Dir::Etc::SourceParts="$PWD/empty" -o Dir::State::Lists="$PWD/lists" \
    -o Dir::State::Status="$PWD/admin/status" -o Dir::State="$PWD" \
    -o Dir::Cache="$PWD" -o Dir::Etc::Parts="$PWD/empty" download double &&
dpkg-deb -x double_1.2.3_all.deb root && cat root/usr/share/double/said
"""


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_apt_fetches_a_package(run, origin, files, tmp_path, workspace,
                               scheme):
    data, control = deb(tmp_path)
    put(files / "debian/double_1.2.3_all.deb", data)
    packages = (control + f"Filename: ./double_1.2.3_all.deb\n"
                f"Size: {len(data)}\n"
                f"SHA256: {hashlib.sha256(data).hexdigest()}\n\n").encode()
    put(files / "debian/Packages.gz", gzip.compress(packages))
    put(files / "debian/Packages", packages)
    (workspace / "apt.sh").write_text(APT)
    url = origin.url("/files/debian") if scheme == "https" \
        else origin.plain_url("/files/debian")
    done = run(f"sh apt.sh {url}")
    assert done.stdout.splitlines()[-1:] == ["the double"], \
        done.stdout + done.stderr
