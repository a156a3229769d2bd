"""Programs that people use, in a sandbox, as they come: each reaches what is
allowed and is told what is not. And package managers that install a real
package, from doubles of their registries."""
import base64
import functools
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import zipfile

import pytest
from programs import PROGRAMS

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
CURL = "curl -sS -o body -w '%{http_code} '"
CLIENTS = {
    "curl": f"{CURL} @ && cat body",
    "curl without proxy": f"{CURL} --noproxy '*' @ && cat body",
    "curl by CONNECT": f"{CURL} --proxytunnel @ && cat body",
    "curl by SOCKS": f"{CURL} -x socks5h://{PROXY} @ && cat body",
    "curl by SOCKS and address":
        f"{CURL} -x socks5://{PROXY} @ && cat body",
    "curl with HTTP/1.0": f"{CURL} -0 @ && cat body",
    "curl with HTTP/1.0 without ALPN": f"{CURL} -0 --no-alpn @ && cat body",
    "wget": "wget -q -S --content-on-error -O body @ 2>&1"
            " | sed -n 's/^ *HTTP[^ ]* \\([0-9]*\\).*/\\1/p' && cat body",
    "wget without proxy": "wget -q -S --no-proxy --content-on-error -O body"
                          " @ 2>&1 | sed -n "
                          "'s/^ *HTTP[^ ]* \\([0-9]*\\).*/\\1/p' && cat body",
    "python urllib": f"{PYTHON} -c \"$URLLIB\" @",
    "python requests": f"{PYTHON} -c \"$REQUESTS\" @",
    "node fetch": "node get.js @",
    "node http": "node get-https.js @",
    **{name: f"{program} @" for name, program in PROGRAMS.items()},
    "go without proxy": f"NO_PROXY='*' {PROGRAMS['go']} @",
}


@pytest.fixture(scope="module")
def run_in(gateway, policies):
    def run_in(workspace, script, *rules):
        (workspace / "get.js").write_text(NODE)
        (workspace / "get-https.js").write_text(NODE_HTTPS)
        rules = rules or (policies.rule("good.example", "plain.example",
                                        methods=["GET", "HEAD"],
                                        paths=["/chunked", "/files/**",
                                               "/@scope/*"]),)
        return gateway.run(policies.make(rules), script, workspace,
                           timeout=180,
                           options=["-e", f"URLLIB={URLLIB}",
                                    "-e", f"REQUESTS={REQUESTS}"])
    return run_in


@pytest.fixture
def run(run_in, workspace):
    return functools.partial(run_in, workspace)


@pytest.fixture(scope="module", params=CLIENTS)
def answers(request, run_in, origin, give_programs, tmp_path_factory):
    """(scheme, path) -> what a client printed, all of it in one sandbox."""
    workspace = tmp_path_factory.mktemp("client")
    command = CLIENTS[request.param]
    give_programs(command, workspace)
    urls = {(scheme, path): url(path)
            for scheme, url in (("https", origin.url),
                                ("http", origin.plain_url))
            for path in ("/chunked", "/echo")}
    script = "".join(f"({command.replace('@', url)}) >said-{i} || exit\n"
                     for i, url in enumerate(urls.values()))
    done = run_in(workspace, script)
    assert done.returncode == 0, done.stderr + done.stdout
    said = {}
    for i, key in enumerate(urls):
        status, text = (workspace / f"said-{i}").read_text().split(maxsplit=1)
        said[key] = int(status), text.strip()
    return said


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_client_reaches_what_is_allowed(answers, scheme):
    assert answers[scheme, "/chunked"] == (200, "one two three")


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_client_is_told_what_is_not(answers, scheme):
    status, text = answers[scheme, "/echo"]
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


def npm_double(origin, files, name, at="npm"):
    """A registry with one package of one version, below files/ at that
    directory ("": at the origin's top); its URL."""
    package = {"name": name, "version": "1.2.3", "main": "index.js"}
    data = tarball({"package/package.json": json.dumps(package).encode(),
                    "package/index.js": b"module.exports = 'the double';\n"})
    put(files / "tarballs/double-1.2.3.tgz", data)
    package["dist"] = {
        "tarball": origin.url("/files/tarballs/double-1.2.3.tgz"),
        "integrity": "sha512-" + base64.b64encode(
            hashlib.sha512(data).digest()).decode()}
    put(files / at / name, json.dumps(
        {"name": name, "dist-tags": {"latest": "1.2.3"},
         "versions": {"1.2.3": package}}))
    return origin.url(f"/files/{at}/" if at else "/")


# npm asks for @scope%2fname.
@pytest.mark.parametrize("name, at", [("double", "npm"),
                                      ("@scope/double", ""),
                                      ("@scope/double", "npm")])
def test_npm_installs_a_package(run, origin, files, name, at):
    registry = npm_double(origin, files, name, at)
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
