"""Where the program is, how it is run, and how its progress is shown."""
from __future__ import annotations

import glob
import importlib.util
import json
import os
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

STOPPED = 75  #: exit code of a program that was asked to stop and keeps what is finished
PATIENCE = 30.0  #: seconds that a program may take to save its work
PAUSE = 10.0  #: seconds between two lines


class CertspecError(RuntimeError):
    """The program failed. The text is its own sentence; `code` is its exit code."""

    def __init__(self, reason: str, code: int = 1) -> None:
        super().__init__(reason)
        self.code = code


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
    env = dict(os.environ)
    spec = importlib.util.find_spec("onnxruntime")
    if "CERTSPEC_ONNXRUNTIME" not in env and spec is not None and spec.origin is not None:
        ending = "*.dylib" if sys.platform == "darwin" else ".so*"
        library = os.path.join(os.path.dirname(spec.origin), "capi", "libonnxruntime" + ending)
        env.update({"CERTSPEC_ONNXRUNTIME": found for found in sorted(glob.glob(library))})
    return env


class Child:
    """The program at work. What it says and its progress are shown as they come."""

    def __init__(self, arguments: Sequence[str], folder: str | None = None,
                 descriptors: Sequence[int] = (), show: bool = True) -> None:
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
        self.arguments, self.show, self.asked = arguments, show, False
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
                warnings.warn(line[len("warning: "):].strip(), stacklevel=6)
        printed = "".join(self.printed)
        if code == STOPPED and self.asked:
            raise KeyboardInterrupt("stopped on request; the same call goes on")
        if code not in accepted or code != 0 and not printed:
            raise CertspecError(self._reason(code), code)
        return printed

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
                return "".join(self.said[at:])[len("certspec: "):].strip()
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
        show: bool = True) -> str:
    """Run the program and return what it prints on standard output."""
    with Child(arguments, folder, show=show) as child:
        return child.result(accepted)
