"""Signing as a test sees it: git's settings for the session's signing
program outside a sandbox, and what verifies what it made."""
import os
import pathlib
import shutil
import subprocess

from gateway import BUILD

PROGRAM = BUILD / "libexec/sallyport/sallyport-sign"


class Signer:
    """git set up as in a sandbox, for a session without one."""

    def __init__(self, session, signing):
        self.session = session
        self.name, self.email = signing["name"], signing["email"]
        self.key = signing["public_key"]
        self.dir = session.dir / "signer"
        self.dir.mkdir()
        shutil.copy(PROGRAM, self.dir)
        (self.dir / "sign.pub").write_text(f"{self.key or ''} {self.email}\n")
        self.allowed = allowed_signers(self.dir, self.email, self.key)

    def env(self):
        settings = {
            "user.name": self.name, "user.email": self.email,
            "user.signingKey": self.dir / "sign.pub", "gpg.format": "ssh",
            "gpg.ssh.program": self.dir / "sallyport-sign",
            "commit.gpgSign": "true", "tag.gpgSign": "true",
            "gpg.ssh.allowedSignersFile": self.allowed}
        made = {"GIT_CONFIG_COUNT": str(len(settings)),
                "http_proxy": self.session.proxy}
        for i, (key, value) in enumerate(settings.items()):
            made |= {f"GIT_CONFIG_KEY_{i}": key,
                     f"GIT_CONFIG_VALUE_{i}": str(value)}
        return made

    def git(self, *args, cwd, check=True, **env):
        ours = {name: value for name, value in self.session.git_env().items()
                if not name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))}
        done = subprocess.run(
            ["git", *map(str, args)], cwd=cwd, text=True, timeout=120,
            capture_output=True, stdin=subprocess.DEVNULL, check=False,
            env={**ours, "GIT_EDITOR": "true", **self.env(), **env})
        if check and done.returncode != 0:
            raise AssertionError(f"git {args}: {done.stderr}{done.stdout}")
        return done

    def init(self, name="work", *options):
        path = self.session.dir / name
        self.git("init", "-q", "-b", "main", *options, path,
                 cwd=self.session.dir)
        return path


def allowed_signers(directory, email, *keys):
    path = pathlib.Path(directory) / "allowed_signers"
    path.write_text("".join(f'{email} namespaces="git" {key}\n'
                            for key in keys if key))
    return path


def payload_of(git, kind, name):
    """The object without its signature, and the signature."""
    raw = git("cat-file", kind, name)
    begin, end = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
    if kind == "tag":
        at = raw.index(begin)
        return raw[:at], raw[at:]
    head, _, message = raw.partition("\n\n")
    lines, signature, inside = [], [], False
    for line in head.split("\n"):
        if line.startswith("gpgsig"):
            inside = True
            line = line.partition(" ")[2]
        elif not line.startswith(" "):
            inside = False
        (signature if inside else lines).append(line.lstrip(" ") if inside
                                                else line)
    signature = "\n".join(signature)
    assert signature.rstrip().endswith(end), signature
    return "\n".join(lines) + "\n\n" + message, signature + "\n"


def verify(tmp_path, allowed, email, payload, signature):
    """ssh-keygen's own word on it."""
    path = tmp_path / "signature"
    path.write_text(signature)
    return subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", email, "-n",
         "git", "-s", path], input=payload, text=True, capture_output=True,
        check=False, env={"PATH": os.environ["PATH"]})
