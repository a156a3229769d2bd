"""Operations by dulwich, one after another; see with_git.sh."""
import io
import sys

from dulwich import porcelain
from dulwich.client import get_transport_and_path
from dulwich.repo import Repo

OUT = sys.stdout.buffer


def clone(url, path):
    porcelain.clone(url, path, errstream=OUT)


def fetch(path, url, spec):
    source, target = spec.encode().split(b":")
    repo = Repo(path)
    client, where = get_transport_and_path(url)
    got = client.fetch(where, repo, progress=OUT.write)
    repo.refs[target] = got.refs[source]


def push(path, url, *specs):
    heard = io.BytesIO()
    porcelain.push(path, url, list(specs), outstream=heard, errstream=heard)
    OUT.write(heard.getvalue())
    if b" failed: " in heard.getvalue():
        raise ValueError("a ref was refused")


def run(words):
    try:
        globals()[words[0]](*words[1:])
        said = "exit 0"
    except Exception as error:  # of many kinds
        said = f"{type(error).__name__}: {error}\nexit 1"
    OUT.write(said.encode() + b"\n")


def main():
    words = []
    for word in sys.argv[1:] + ["--"]:
        if word != "--":
            words.append(word)
            continue
        run(words)
        words = []


main()
