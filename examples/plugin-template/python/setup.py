"""Builds the library with Cargo and puts it into the wheel; all else is in pyproject.toml."""

import json
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

CRATE = "rle-export"


def build_library():
    """The path of the library, which Cargo says."""
    manifest = Path(__file__).resolve().parent.parent / "Cargo.toml"
    command = ["cargo", "build", "--release", "-p", CRATE, "--manifest-path", str(manifest)]
    messages = subprocess.check_output([*command, "--message-format", "json-render-diagnostics"], text=True)
    for message in map(json.loads, messages.splitlines()):
        if message["reason"] == "compiler-artifact" and message["target"]["kind"] == ["cdylib"]:
            return next(Path(file) for file in message["filenames"] if file.endswith((".so", ".dylib", ".dll")))
    raise SystemExit(f"{CRATE} has made no library")


class Build(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "blosc2_rle"
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(build_library(), package)


class Wheel(bdist_wheel):
    """For any Python 3 on this platform: the library does not use the interface of Python."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": Build, "bdist_wheel": Wheel})
