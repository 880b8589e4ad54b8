"""Where the program is, and how it is run."""
from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Dict, Sequence


class CertspecError(RuntimeError):
    """What the program said when it failed."""


def program() -> str:
    """The path of the program: that of CERTSPEC_PROGRAM, the one of this package, or the one on the PATH.

    >>> os.access(program(), os.X_OK)
    True
    """
    named = os.environ.get("CERTSPEC_PROGRAM")
    if named:
        return named
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user"), os.path.join(here, "bin")):
        found = os.path.join(folder, "certspec")
        if os.access(found, os.X_OK):
            return found
    found = shutil.which("certspec")
    if found is None:
        raise CertspecError("the program certspec is missing: reinstall the package, or name the program in CERTSPEC_PROGRAM")
    return found


def environment() -> Dict[str, str]:
    """The environment of the program, with the library of the package onnxruntime where that is installed."""
    env = dict(os.environ)
    if "CERTSPEC_ONNXRUNTIME" not in env:
        spec = importlib.util.find_spec("onnxruntime")
        if spec is not None and spec.origin is not None:
            ending = "*.dylib" if sys.platform == "darwin" else ".so*"
            found = sorted(glob.glob(os.path.join(os.path.dirname(spec.origin), "capi", "libonnxruntime" + ending)))
            if found:
                env["CERTSPEC_ONNXRUNTIME"] = found[-1]
    return env


def run(arguments: Sequence[str]) -> str:
    """Run the program and return what it prints on standard output.

    >>> run(["bound", "--no-such-flag"])
    Traceback (most recent call last):
    ...
    certspec._program.CertspecError: ...
    """
    done = subprocess.run([program(), *arguments], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise CertspecError(done.stderr.strip())
    return done.stdout
