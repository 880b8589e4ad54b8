"""Where a verb runs: on images in files, with a model that answers over two pipes."""
from __future__ import annotations

import errno
import glob
import json
import os
import queue
import struct
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import Any, BinaryIO, Iterator, Mapping, Sequence

import numpy as np

from ._images import Filtered, Images, save
from ._model import Subject, card_of, carried, prepared
from ._options import OF_IMAGES, ModelOptions, class_list, flags, further, normalisation, word
from ._program import Child, run


class Job:
    """A model and images, ready for a verb."""

    def __init__(self, folder: str | None, words: list[str], subject: Subject | None,
                 given: Mapping[str, object]) -> None:
        self.folder, self.words, self.subject, self.given = folder, words, subject, given

    def run(self, verb: Sequence[str], words: Sequence[str], accepted: Sequence[int] = (0,),
            raw: bool = False) -> str:
        """Run a verb with flags, and return the JSON that it prints."""
        settings = {k: v for k, v in self.given.items() if k not in ModelOptions.__annotations__}
        ours = [*self.words, *words, *flags(settings), "--json"]
        arguments = [*verb, *ours, *further(self.given.get("options", ()), ours)]
        show = bool(self.given.get("progress", True))
        if self.subject is None:
            return run(arguments, folder=self.folder, accepted=accepted, show=show, raw=raw)
        return serve(arguments, self.subject, self.folder, accepted=accepted, show=show, raw=raw)


@contextmanager
def job(model: object, images: Any, labels: object, given: Mapping[str, Any],
        here: bool = False) -> Iterator[Job]:
    """Put images where the program reads them, for as long as a verb takes.

    The program runs in the folder of the images, so that a ledger names no folder; or here.
    """
    named, file = (isinstance(either, (str, os.PathLike)) for either in (images, model))
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        place = images.folder if isinstance(images, Filtered) else None if named else folder
        how = given.get("image_layout"), given.get("data_name", "images")
        sides, wanted = prepared(card_of(model, given.get("processor")))
        if sides and named and os.path.isdir(images):  # pictures of any size
            print(f"[{wanted}] is that of the processor", file=sys.stderr)
            images = f"{os.fspath(images)}[{wanted}]"
        saved = _named(images, labels, file) if named else save(images, labels, folder, *how)
        data = f"--data={saved.data}"
        if here or place is None:
            place = None
        else:
            data = data.replace(place + os.sep, "")
        if file:
            yield Job(place, [data, *_file(model, given, folder)], None, given)
            return
        of_model = ModelOptions.__annotations__.keys() - set(OF_IMAGES)
        subject = Subject(model, saved, **{k: given[k] for k in of_model & given.keys()})
        subject.grid = not str(given.get("noise")).startswith("gaussian")
        yield Job(place, [data], subject, given)


def _named(images: Any, labels: object, file: bool) -> Images:
    """A data set by its name, or a folder of pictures."""
    if labels is not None:
        raise ValueError(f"labels are given, and {images!r} has its own")
    name = data_of(images)
    first = np.zeros((1, 1, 1), np.uint8)
    if not file:  # what the model answers to one image tells the number of classes
        info = json.loads(run(["dataset", "list", name, "--json"]))
        sides = [info["shape"][side] for side in ("height", "width", "channels")]
        first = np.full(sides, 128, np.uint8)
    return Images(name, first, None)


def data_of(images: Any) -> str:
    """The name of a data set; a folder of pictures is one, also with brackets behind it."""
    name = str(os.fspath(images))
    folder, bracket, rest = name.partition("[")
    if os.path.exists(name):
        return "folder:" + os.path.abspath(name)
    return "folder:" + os.path.abspath(folder) + bracket + rest if os.path.isdir(folder) else name


def _file(model: Any, given: Mapping[str, Any], folder: str) -> list[str]:
    """The flags of a model in a file."""
    path = os.path.abspath(os.fspath(model))
    if not glob.glob(glob.escape(path) + "*"):  # of a model file the ending may be left out
        raise FileNotFoundError(errno.ENOENT, "no model file or ONNX file", os.fspath(model))
    for name in ("classes", "name", "identity", "batch_size", "device"):
        if given.get(name) is not None:
            raise ValueError(f"{name} is for a model of this process, and {path} is a file")
    words = [f"--model={path}"]
    words += flags(normalisation(
        *carried(model, given.get("mean"), given.get("std"), given.get("processor")), 3))
    if "layout" in given:
        layout = word(given["layout"], "layout", ("chw", "hwc"))
        words.append(f"--layout={'NCHW' if layout == 'chw' else 'NHWC'}")
    if "output" in given:
        words.append(f"--scores={word(given['output'], 'output', ('logits', 'probabilities'))}")
    names = class_list(given.get("class_names"))
    if names is not None:
        words.append("--class-names=" + os.path.join(folder, "classes.txt"))
        with open(os.path.join(folder, "classes.txt"), "w", encoding="utf-8") as listed:
            listed.write("\n".join(names))
    return words


def serve(arguments: Sequence[str], subject: Subject, folder: str | None, *,
          accepted: Sequence[int] = (0,), show: bool = True, raw: bool = False) -> str:
    """Run the program and answer its batches until it ends; return what it prints.

    The protocol is that of engine/pipe/PROTOCOL.md. An exception in the model stops the program,
    which keeps what is finished, and is raised here.
    """
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    source, sink = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb", 0)
    with sink:
        try:
            words = [*arguments, "--exec-fds", f"{theirs_out},{theirs_in}"]
            started = Child(words, folder, (theirs_in, theirs_out), show, raw)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        with started as child:
            try:
                with subject.ready():
                    _converse(source, sink, subject)
            except BaseException:
                if not child.asked:
                    child.stop()
                raise
            finally:
                sink.close()
            return child.result(accepted)


def _write(sink: BinaryIO, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[sink.write(left):]


def _converse(source: BinaryIO, sink: BinaryIO, subject: Subject) -> None:
    """Answer requests, while a thread reads the next one and brings it to the device."""
    hello = subject.hello()
    requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    try:
        _write(sink, b"certspec" + struct.pack("<II", 1, len(hello)) + hello)
        threading.Thread(target=_read, args=(source, subject, requests), daemon=True).start()
        for request, count, entering in iter(requests.get, None):
            if isinstance(entering, BaseException):
                raise entering
            content = subject.answer(entering, count)
            _write(sink, struct.pack("<QII", request, count, len(content)) + content)
    except BrokenPipeError:
        return  # the program has ended; its code says how


def _read(source: BinaryIO, subject: Subject, requests: "queue.SimpleQueue[Any]") -> None:
    entering: object = None
    with source:
        while not isinstance(entering, BaseException):
            head = source.read(16)
            if len(head) < 16:
                break
            request, count, size = struct.unpack("<QII", head)
            try:
                entering = subject.entering(source.read(size), count, request >> 63 == 1)
            except BaseException as error:
                entering = error
            requests.put((request, count, entering))
    requests.put(None)
