"""Doubles of package registries, as files that the origin serves: npm's, of
real packages, and Python's."""
import base64
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile
import zipfile

from api import install_npm

HERE = pathlib.Path(__file__).parent


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


# ---- npm ----

def _cached(cache, integrity):
    """The file in npm's cache that holds the tarball with this digest."""
    kind, _, digest = integrity.partition("-")
    name = base64.b64decode(digest).hex()
    return cache / "_cacache/content-v2" / kind / name[:2] / name[2:4] / \
        name[4:]


def npm_registry(files, url, source, scratch):
    """Serve all packages of the lock file in `source`, as npm's registry
    does: what a package is at the top, tarballs (below url) elsewhere."""
    lock = json.loads((source / "package-lock.json").read_text())
    cache = pathlib.Path(subprocess.run(
        ["npm", "config", "get", "cache"], check=True, capture_output=True,
        text=True).stdout.strip())
    wanted = [(path.rpartition("node_modules/")[2], of["version"],
               of["integrity"])
              for path, of in lock["packages"].items() if path]
    if not all(_cached(cache, digest).exists() for _, _, digest in wanted):
        install_npm(source, scratch)
    packages = {}
    for name, version, digest in wanted:
        tarball = f"tarballs/{name.replace('/', '-')}-{version}.tgz"
        put(files / tarball, _cached(cache, digest).read_bytes())
        of = packages.setdefault(name, {"name": name, "versions": {}})
        of["dist-tags"] = {"latest": version}
        of["versions"][version] = {
            "name": name, "version": version,
            "dist": {"tarball": url + tarball, "integrity": digest}}
    for name, of in packages.items():
        put(files / name, json.dumps(of))
    return lock


# ---- Python's index ----

def _index(files, name, file, data):
    put(files / "wheels" / file, data)
    digest = hashlib.sha256(data).hexdigest()
    put(files / "simple" / name / "index.html",
        f'<a href="/files/wheels/{file}#sha256={digest}">{file}</a>')


def wheel(files, name, members, requires=(), commands=()):
    """A wheel with these files, in the index."""
    info = f"{name}-1.0.dist-info"
    meta = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0",
            *(f"Requires-Dist: {text}" for text in requires)]
    members = {**members, f"{info}/METADATA": "\n".join(meta) + "\n",
               f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                                "Tag: py3-none-any\n",
               f"{info}/entry_points.txt": "[console_scripts]\n" + "".join(
                   f"{text}\n" for text in commands)}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(
            f"{path},,\n" for path in [*members, f"{info}/RECORD"]))
    _index(files, name, f"{name}-1.0-py3-none-any.whl", out.getvalue())


def sdist(files, name, members):
    """A source distribution with these files, in the index."""
    out = io.BytesIO()
    members = {**members, "PKG-INFO": "Metadata-Version: 2.1\n"
               f"Name: {name}\nVersion: 1.0\n"}
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in members.items():
            info = tarfile.TarInfo(f"{name}-1.0/{path}")
            info.size = len(text.encode())
            info.mode = 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    _index(files, name, f"{name}-1.0.tar.gz", out.getvalue())
