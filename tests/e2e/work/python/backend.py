"""What builds a source distribution: a wheel whose module calls a library
that the compiler makes here."""
import pathlib
import subprocess
import zipfile

INFO = "built-1.0.dist-info"
NAME = "built-1.0-py3-none-any.whl"
MODULE = """
import ctypes, pathlib
library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libanswer.so")))
answer = library.answer
"""


def build_wheel(directory, config_settings=None, metadata_directory=None):
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libanswer.so", "built.c"],
                   check=True)
    members = {
        "built.py": MODULE,
        "libanswer.so": pathlib.Path("libanswer.so").read_bytes(),
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: built\n"
                            "Version: 1.0\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                         "Tag: py3-none-any\n"}
    with zipfile.ZipFile(pathlib.Path(directory, NAME), "w") as archive:
        for path, content in members.items():
            archive.writestr(path, content)
        archive.writestr(f"{INFO}/RECORD", "".join(
            f"{path},,\n" for path in [*members, f"{INFO}/RECORD"]))
    return NAME
