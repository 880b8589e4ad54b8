"""Where the program is, how it is run, and how its progress is shown."""
from __future__ import annotations

import glob
import importlib.util
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import warnings
from types import FrameType
from typing import IO, Any, Callable, Sequence

ONNXRUNTIME = (1, 29)  #: the oldest that the program takes
WRONG = 2  #: exit code of wrong use
STOPPED = 75  #: exit code of a program that was asked to stop and keeps what is finished
PATIENCE = 30.0  #: seconds that a program may take to save its work
PAUSE = 10.0  #: seconds between two lines


class CertspecError(RuntimeError):
    """The program failed. The text is its own sentence; `code` is its exit code."""

    def __init__(self, reason: str, code: int = 1) -> None:
        super().__init__(reason)
        self.code = code


class UsageError(CertspecError, ValueError):
    """A wrong value, which the program found. The text has the names of the arguments."""


#: What the program calls otherwise, by its flag.
ARGUMENTS = {"out": "ledger", "data": "images", "images": "count", "scores": "output",
             "eps": "epsilon", "window": "most"}
VERBS = {"ledger replay": "replay", "ledger compare": "compare", "calib table": "calibration",
         "calib metrics": "metrics", **{verb: verb for verb in (
             "attack", "certify", "evaluate", "predict", "preflight", "quantize", "report", "sweep",
             "train")}}
SHELL = re.compile(r"\bcertspec [a-z]+[^.;:]*$")  #: a command that Python has no function for


def python_words(text: str, arguments: Sequence[str] = ()) -> str:
    """A sentence of the program in the words of Python: functions and arguments, no flags.

    >>> python_words("--n 50: expected more; certspec preflight --n0 100 says", ["--n=50"])
    'n=50: expected more; certspec.preflight n0=100 says'
    """
    given = dict(word[2:].partition("=")[::2] for word in arguments if word.startswith("--"))

    def argument(found: re.Match[str]) -> str:
        flag, value = found.group(1), found.group(2) or ""
        name = ARGUMENTS.get(flag, flag).replace("-", "_")
        bare = value.strip(" =")
        if flag == "help" or SHELL.search(found.string[:found.start()]):
            return found.group()
        valued = bare and (bare == given.get(flag) or bare[0].isdigit() or value[0] == "=")
        if name not in _arguments():
            return f'options=["--{flag}={bare}"]' if valued else f'options=["--{flag}"]{value}'
        return f"{name}={bare}" if valued else name + value

    for verb, name in VERBS.items():
        text = re.sub(rf"\bcertspec {verb}\b(?! [a-z]+ -)", f"certspec.{name}", text)
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)([ =][^\s,;:()]+)?", argument, text)


def _arguments() -> frozenset[str]:
    """The arguments of all functions of the package."""
    package = sys.modules[__package__]
    return frozenset(name for one in map(package.__dict__.get, package.__all__)
                     if inspect.isfunction(one) for name in inspect.signature(one).parameters)


def program() -> str:
    """Find the program: in CERTSPEC_PROGRAM, in this package, or on the PATH.

    >>> os.access(program(), os.X_OK)
    True
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    scripts = sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")
    found = os.environ.get("CERTSPEC_PROGRAM") or shutil.which(
        "certspec", path=os.pathsep.join([*scripts, os.path.join(here, "bin")])) \
        or shutil.which("certspec")
    if found is None:
        raise CertspecError("the program certspec is missing: reinstall the package, "
                            "or name the program in CERTSPEC_PROGRAM")
    return found


def environment() -> dict[str, str]:
    """The environment of the program, with the library of the package onnxruntime, if any."""
    env, (library, version) = dict(os.environ), _onnxruntime()
    if library and not _old(version):
        env.setdefault("CERTSPEC_ONNXRUNTIME", library)
    return env


def _onnxruntime() -> tuple[str, str]:
    """The library of the package onnxruntime, and its version, which is in its name."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        return "", ""
    ending = "*.dylib" if sys.platform == "darwin" else ".so*"
    found = glob.glob(os.path.join(os.path.dirname(spec.origin), "capi", "libonnxruntime" + ending))
    names = {path: re.search(r"\d+(\.\d+)+", os.path.basename(path)) for path in sorted(found)}
    return next(((path, name.group()) for path, name in names.items() if name), ("", ""))


def _old(version: str) -> bool:
    """Whether the program is too new for an ONNX Runtime; it then takes the one in its cache."""
    return tuple(map(int, version.split(".")[:2])) < ONNXRUNTIME if version else False


class Child:
    """The program at work. What it says and its progress are shown as they come."""

    def __init__(self, arguments: Sequence[str], folder: str | None = None,
                 descriptors: Sequence[int] = (), show: bool = True, raw: bool = False) -> None:
        ours, theirs = os.pipe()
        env = {**environment(), "CERTSPEC_PROGRESS_FD": str(theirs)}
        try:
            # In a session of its own, so that Ctrl-C reaches it once, and from here.
            self.process = subprocess.Popen(
                [program(), *arguments], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                pass_fds=(theirs, *descriptors), start_new_session=True)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self.arguments, self.show, self.raw, self.asked = arguments, show, raw, False
        self.printed: list[str] = []
        self.said: list[str] = []
        progress = os.fdopen(ours, encoding="utf-8", errors="replace")
        readers = ((lambda file: self.printed.append(file.read()), self.process.stdout),
                   (self._relay, self.process.stderr), (follow if show else IO.read, progress))
        self.threads = [threading.Thread(target=_drain, args=reader, daemon=True)
                        for reader in readers]
        for thread in self.threads:
            thread.start()

    def _relay(self, file: IO[str]) -> None:
        failed = False
        for line in file:
            self.said.append(line)
            failed = failed or line.startswith("certspec: ")
            if self.show and not failed and not line.startswith("warning: "):
                sys.stderr.write(line)

    def stop(self) -> None:
        """Ask the program to stop and keep what is finished; a second time, to end at once."""
        self.asked = True
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def __enter__(self) -> "Child":
        """Let the first Ctrl-C stop the program, which still gets its answers; a second ends it.

        Outside of the main thread no interrupt arrives, so nothing changes.
        """
        def interrupted(number: int, frame: FrameType | None) -> None:
            again = self.asked
            self.stop()
            if again:
                raise KeyboardInterrupt

        self.handler: Any = None
        if threading.current_thread() is threading.main_thread() \
                and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
            self.handler = signal.signal(signal.SIGINT, interrupted)
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the program where it still runs; end it where that takes too long."""
        try:
            if not self.asked:
                self.stop()
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        finally:
            self._join()
            if self.handler is not None:
                signal.signal(signal.SIGINT, self.handler)

    def result(self, accepted: Sequence[int] = (0,)) -> str:
        """Wait for the end, and return what the program printed on standard output."""
        code = self._join()
        for line in self.said:
            if line.startswith("warning: "):
                warnings.warn(self._words(line[len("warning: "):].strip()), stacklevel=6)
        printed = "".join(self.printed)
        if code == STOPPED and self.asked:
            raise KeyboardInterrupt("stopped on request; the same call goes on")
        if code not in accepted or code != 0 and not printed:
            raise (UsageError if code == WRONG else CertspecError)(
                self._words(self._reason(code)), code)
        return printed

    def _words(self, text: str) -> str:
        """A sentence in the words of who called: raw where those are flags."""
        return text if self.raw else python_words(text, self.arguments)

    def _join(self) -> int:
        code = self.process.wait()
        for thread in self.threads:
            thread.join()
        return code

    def _reason(self, code: int) -> str:
        """What the program said last: its error may have several lines."""
        if code == STOPPED:
            return "stopped on request; the same call goes on"
        for at, line in enumerate(self.said):
            if line.startswith("certspec: "):
                text = "".join(self.said[at:])[len("certspec: "):].strip()
                version = _onnxruntime()[1] if "ONNX Runtime" in text else ""
                return text + f" (the package onnxruntime here is {version}, which is too old; " \
                    "pip install 'certspec[onnx]' brings another)" * _old(version)
        name, said = "certspec " + self.arguments[0], "".join([*self.said[-5:], *self.printed])
        return f"{name} ended with code {code}; it said: {said.strip()}"


def follow(file: IO[str]) -> None:
    """Show what the program tells, a state on each line, until it ends."""
    there = importlib.util.find_spec("tqdm")
    tqdm: Any = importlib.import_module("tqdm.auto").tqdm if there else None
    bar, last = None, time.monotonic()
    for state in map(json.loads, file):
        if tqdm is None or state["message"]:
            if state["message"] or state["final"] or time.monotonic() - last > PAUSE:
                last = time.monotonic()
                print(state["text"], file=sys.stderr, flush=True)
            continue
        if bar is None:
            bar = tqdm(desc=state["task"], total=state["total"] or None, unit=" " + state["unit"],
                       file=sys.stderr)
        bar.update(state["done"] - bar.n)
        if state["final"]:
            bar.close()
            bar = None


def _drain(read: Callable[[IO[str]], None], file: IO[str]) -> None:
    with file:
        read(file)


def run(arguments: Sequence[str], *, folder: str | None = None, accepted: Sequence[int] = (0,),
        show: bool = True, raw: bool = False) -> str:
    """Run the program and return what it prints on standard output."""
    with Child(arguments, folder, show=show, raw=raw) as child:
        return child.result(accepted)
