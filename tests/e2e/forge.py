"""The local git forge (deploy/forge/forge) as a test sees it."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import time
import zlib

from waiting import wait_until

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FORGE = SOURCE / "deploy/forge/forge"
NAMES = ["github.com", "api.github.com", "forge.example", "allowed.example",
         "blocked.example"]
# Nothing of whoever runs the tests must reach their git.
CLEAN_GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
             "GIT_AUTHOR_NAME": "agent", "GIT_AUTHOR_EMAIL": "agent@example",
             "GIT_COMMITTER_NAME": "agent",
             "GIT_COMMITTER_EMAIL": "agent@example",
             "GIT_TERMINAL_PROMPT": "0"}


def git_env(home):
    return {"PATH": os.environ["PATH"], "HOME": str(home), **CLEAN_GIT}


class Repo:
    """A repository on the forge: what stands there, without the gateway."""

    def __init__(self, forge, name):
        self.forge = forge
        self.name = name
        self.path = forge.dir / "repos" / f"{name}.git"
        self.url = f"https://github.com{forge.suffix}/{name}"

    def git(self, *args, check=True, **kwargs):
        done = subprocess.run(["git", "-C", str(self.path), *args],
                              env=git_env(self.forge.dir), text=True,
                              capture_output=True, check=False, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"git {args}: {done.stderr}")
        return done.stdout.strip()

    def store(self, kind, content):
        """An object, as git itself would store it; returns its name."""
        data = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(data).hexdigest()
        path = self.path / "objects" / name[:2] / name[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(data))
        return name

    def refs(self):
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split() for line in lines.splitlines())

    def tip(self, branch):
        return self.refs().get(f"refs/heads/{branch}")

    def commit(self, branch, message, files=(), parents=None):
        """Commit on the forge itself; returns the commit."""
        entries = self.git("ls-tree", parents[0] if parents else "main")
        lines = {line.split("\t")[1]: line for line in entries.splitlines()}
        for name, text in dict(files).items():
            blob = self.git("hash-object", "-w", "--stdin", input=text)
            lines[name] = f"100644 blob {blob}\t{name}"
        tree = self.git("mktree", input="\n".join(lines.values()) + "\n")
        parents = parents or [self.tip(branch) or self.tip("main")]
        made = self.git("commit-tree", "-m", message,
                        *[word for p in parents for word in ("-p", p)], tree)
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made


class Forge:
    def __init__(self, directory, address):
        self.dir = pathlib.Path(directory)
        self.address = address
        self.port = 443 if os.getuid() == 0 else 8443
        # Behind a host in a URL.
        self.suffix = "" if self.port == 443 else f":{self.port}"
        self._made = 0

    def start(self):
        subprocess.run([FORGE, "start", self.dir, "--address", self.address,
                        "--port", str(self.port)], check=True,
                       stdin=subprocess.DEVNULL)
        self.token = (self.dir / "token").read_text().strip()
        self.ca_pem = (self.dir / "ca.pem").read_text()
        self._template = self._make_repo("template/first")

    def stop(self):
        subprocess.run([FORGE, "stop", self.dir], check=True,
                       stdin=subprocess.DEVNULL)

    def repo(self, name=None):
        self._made += 1
        return self._copy_repo(name or f"acme/widgets-{self._made}")

    def _make_repo(self, name):
        subprocess.run([FORGE, "repo", self.dir, name], check=True)
        return Repo(self, name)

    def _copy_repo(self, name):
        """What the forge makes of this name, without a dozen processes: the
        tests have hundreds of repositories."""
        repo = Repo(self, name)
        shutil.copytree(self._template.path, repo.path,
                        ignore=shutil.ignore_patterns("*.sample", "??"))
        blob = repo.store("blob", f"{name}\n".encode())
        tree = repo.store("tree", b"100644 README\0" + bytes.fromhex(blob))
        who = f"forge <forge@forge.example> {int(time.time())} +0000"
        commit = repo.store("commit", f"tree {tree}\nauthor {who}\n"
                            f"committer {who}\n\nthe first\n".encode())
        (repo.path / "refs/heads/main").write_text(f"{commit}\n")
        return repo

    def log(self):
        """What upstream got: a line a request, never a credential."""
        return (self.dir / "access.log").read_text().splitlines()

    def log_of(self, text):
        return [line for line in self.log() if text in line]

    def heard(self, text):
        """log_of() for what was asked: nginx writes its line after the
        client has its answer."""
        return wait_until(lambda: self.log_of(text))
