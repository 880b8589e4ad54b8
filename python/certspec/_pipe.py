"""The program asks a model of this process, over two pipes (engine/pipe/PROTOCOL.md)."""
from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, BinaryIO, Optional, Sequence, Tuple

from ._program import STOPPED, CertspecError, Child, interruptible

if TYPE_CHECKING:
    from ._model import Subject


def serve(arguments: Sequence[str], subject: "Subject", folder: Optional[str], *,
          accepted: Sequence[int] = (0,), show: bool = True) -> str:
    """Run the program and answer its batches until it ends; return what it prints.

    An exception in the model stops the program, which keeps what is finished, and is raised here.
    """
    child, source, sink = _start(arguments, folder, show)
    with interruptible(child):
        try:
            with subject.ready():
                _converse(source, sink, subject)
        except BaseException:
            if not child.asked:
                child.stop()
            _close(source, sink)
            child.abandon()
            raise
        _close(source, sink)
        try:
            return child.result(accepted)
        except CertspecError as error:
            if error.code != STOPPED:
                raise
            text = "stopped on request; the same call goes on"
            if child.asked:
                raise KeyboardInterrupt(text) from None
            raise CertspecError(text, STOPPED) from None


def _start(arguments: Sequence[str], folder: Optional[str],
           show: bool) -> Tuple[Child, BinaryIO, BinaryIO]:
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    try:
        pipes = ["--exec-fds", f"{theirs_out},{theirs_in}"]
        child = Child([*arguments, *pipes], folder, (theirs_in, theirs_out), show)
    except BaseException:
        os.close(ours_in)
        os.close(ours_out)
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return child, os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")


def _close(*files: BinaryIO) -> None:
    for file in files:
        try:
            file.close()
        except OSError:
            pass


def _converse(source: BinaryIO, sink: BinaryIO, subject: "Subject") -> None:
    hello = subject.hello()
    try:
        sink.write(b"certspec" + struct.pack("<II", 1, len(hello)) + hello)
        sink.flush()
        while True:
            head = source.read(16)
            if len(head) < 16:
                return
            request, count, size = struct.unpack("<QII", head)
            content = subject.answer(subject.images(source.read(size), count))
            sink.write(struct.pack("<QII", request, count, len(content)) + content)
            sink.flush()
    except BrokenPipeError:
        return  # the program has ended; its code says how
