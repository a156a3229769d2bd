"""Operations by libgit2, one after another; see with_git.sh."""
import sys

import pygit2


class Heard(pygit2.RemoteCallbacks):
    """What upstream says of a push, as a program would show it."""

    def __init__(self):
        super().__init__()
        self.refused = False

    def sideband_progress(self, text):
        sys.stdout.write(text if isinstance(text, str) else text.decode())

    def push_update_reference(self, name, message):
        self.refused |= message is not None
        print(name, message or "ok")


def remote_of(path, url):
    """One without a branch of its own."""
    remotes = pygit2.Repository(path).remotes
    return remotes.create(f"remote-{len(remotes)}", url)


def clone(url, path):
    pygit2.clone_repository(url, path)


def fetch(path, url, spec):
    remote_of(path, url).fetch([spec])


def push(path, url, *specs):
    heard = Heard()
    remote_of(path, url).push(list(specs), callbacks=heard)
    if heard.refused:
        raise pygit2.GitError("a ref was refused")


def run(words):
    try:
        globals()[words[0]](*words[1:])
        print("exit 0")
    except pygit2.GitError as error:
        print(error, "exit 1", sep="\n")


def main():
    words = []
    for word in sys.argv[1:] + ["--"]:
        if word != "--":
            words.append(word)
            continue
        run(words)
        words = []


main()
