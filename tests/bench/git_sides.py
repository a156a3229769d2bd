"""A forge, and two ways to it: git with the real token, and a session that
does not have it."""
import base64
import pathlib
import subprocess
import tempfile

import bench

def direct_env(forge, env):
    """The real token, and the name that leads to the forge."""
    basic = base64.b64encode(f"x-access-token:{forge.token}".encode())
    settings = {"http.extraHeader": f"Authorization: Basic {basic.decode()}",
                "http.curloptResolve":
                f"github.com:{forge.port}:{forge.address}",
                "http.sslCAInfo": str(forge.dir / "ca.pem")}
    more = {"GIT_CONFIG_COUNT": str(len(settings))}
    for i, (key, value) in enumerate(settings.items()):
        more |= {f"GIT_CONFIG_KEY_{i}": key, f"GIT_CONFIG_VALUE_{i}": value}
    return env | more


def policy(forge, repo):
    return {"version": 1,
            "network": {"addresses": {"allow": [f"{forge.address}/32"]}},
            "credentials": [{"name": "forge", "secret": "forge",
                             "attach": "github", "hosts": ["github.com"]}],
            "git": [{"repo": repo.url, "credential": "forge", "read": True,
                     "push": {"branches": ["${session.branch}"]}}]}


class Sides:
    """repo is reached directly, ours by the session; share() gives ours the
    branches that repo has then, and both the same packs."""

    def __init__(self, stack, address, branch):
        from forge import Forge, git_env
        from gateway import Gateway
        from session import Session
        self.directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="sallyport-bench-")))
        self.directory.chmod(0o755)
        self.forge = Forge(self.directory / "forge", address)
        stack.callback(self.forge.stop)
        self.forge.start()
        self.gateway = Gateway(self.directory, {"github.com": address},
                               self.forge.ca_pem)
        self.gateway.start()
        stack.callback(self.gateway.check)
        stack.callback(self.gateway.stop)
        self.gateway.put_secret("forge", self.forge.token)
        self.env = git_env(self.directory)
        self.direct_env = direct_env(self.forge, self.env)
        self.repo = self.forge.repo("acme/direct")
        self.ours = self.forge.repo("acme/direct-too")
        self.session = Session(self.gateway, self.directory / "session",
                               policy(self.forge, self.ours), self.ours,
                               branch)
        stack.callback(self.session.close)

    def share(self):
        subprocess.run(["git", "clone", "-q", "--mirror", self.repo.path,
                        self.directory / "copy"], check=True, env=self.env)
        self.ours.git("fetch", "-q", str(self.directory / "copy"),
                      "+refs/heads/*:refs/heads/*")
        # The same packs, each with its bitmap: it saves upload-pack 0.1 s.
        for repo in (self.repo, self.ours):
            repo.git("repack", "-q", "-a", "-d")


def make(stack, address, branch):
    bench.need("git", "nginx", "fcgiwrap", "openssl")
    bench.build()
    return Sides(stack, address, branch)
