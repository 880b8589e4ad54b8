"""Certification of something that lives in this process, over the pipe's protocol."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
from typing import Any, BinaryIO, Callable, Dict, List, Optional, Sequence, Union

import numpy as np

from ._program import CertspecError, environment, program
from ._read import Ledger, Path

Numbers = Union[None, float, Sequence[float]]


def state_digest(module: Any) -> str:
    """The SHA-256 of a PyTorch module's class, structure and state, for the argument identity of certify.

    It covers names, types, shapes and values of parameters and buffers, and what print(module) shows. Code that
    behaves otherwise with the same state is for the caller to tell apart.
    """
    sum = hashlib.sha256(repr(module).encode())
    for name, tensor in sorted(module.state_dict().items()):
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        sum.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        sum.update(array.tobytes())
    return "sha256:" + sum.hexdigest()


def certify(
    model: Any,
    images: Any,
    labels: Any,
    *,
    sigma: float,
    mean: Numbers = None,
    std: Numbers = None,
    n: int = 10_000,
    ledger: Optional[Path] = None,
    identity: Optional[str] = None,
    layout: str = "chw",
    output: str = "logits",
    classes: Optional[int] = None,
    name: str = "",
    seed: Optional[int] = None,
    options: Sequence[str] = (),
) -> Ledger:
    """Certify images under a model by randomized smoothing, and return the finished ledger.

    model: a torch.nn.Module, or any function of an array. Either gets a batch of images as float32, with noise, values from
        0 to 1 and beyond, then (x - mean) / std: (n, channels, height, width) for the layout "chw", (n, height, width,
        channels) for "hwc"; a module as a tensor on its own device, in evaluation mode, a function as a NumPy array. It
        answers with (n, classes) logits or probabilities, or with n classes, as output says. It must be a function of one
        image, the same each time: no dropout, and nothing that depends on the other images of the batch.
    images: 8-bit images, (N, H, W), (N, H, W, C) or (N, C, H, W), uint8, or real numbers that are multiples of 1/255.
    labels: N whole numbers.
    sigma: standard deviation of the noise, where white is 1.
    mean, std: one number, or one per channel; applied after the noise.
    n: most noise samples for an image.
    ledger: the file that records the run. The same call goes on with one that was interrupted, where identity is given.
    identity: what identifies the model, such as state_digest(module). Without it the ledger says that there is none, and
        cannot be resumed.
    options: further arguments of `certspec certify`, such as ["--rule", "fixed"].

    The work is the program's; an exception in the model, or an interrupt, stops it and is raised here.
    """
    if identity is not None and not identity:
        raise ValueError("identity is empty; expected what identifies the model, such as state_digest(module), or None")
    if output not in ("logits", "probabilities", "classes"):
        raise ValueError(f"output {output!r}; expected 'logits', 'probabilities' or 'classes'")
    if layout not in ("chw", "hwc"):
        raise ValueError(f"layout {layout!r}; expected 'chw' or 'hwc'")
    pixels, targets = _images(images), np.asarray(_host(labels)).astype(np.int64).reshape(-1)
    if len(pixels) != len(targets) or len(targets) == 0:
        raise ValueError(f"{len(pixels)} images and {len(targets)} labels")
    height, width, channels = pixels.shape[1:]
    answer = _prepared(model, mean, std, channels, layout)
    if classes is None:
        if output == "classes":
            raise ValueError("classes is missing: a model that answers with classes does not tell how many there are")
        classes = _shape(answer(pixels[:1].astype(np.int16), output))[-1]
    if not 0 <= targets.min() <= targets.max() < classes:
        raise ValueError(f"labels from {targets.min()} to {targets.max()} for {classes} classes")
    hello = json.dumps({"name": name or getattr(model, "__name__", type(model).__name__), "height": height, "width": width, "channels": channels,
                        "layout": "hwc", "dtype": "int16", "classes": classes, "output": output, "weights": _identity(identity, mean, std, layout),
                        "preprocessing": _preprocessing(mean, std)}).encode()
    folder = tempfile.mkdtemp(prefix="certspec-")
    try:
        np.save(os.path.join(folder, "images.npy"), pixels)
        np.save(os.path.join(folder, "labels.npy"), targets)
        path = os.fspath(ledger) if ledger is not None else os.path.join(tempfile.mkdtemp(prefix="certspec-"), "run.ledger")
        arguments = ["certify", "--data", "npy:images.npy,labels.npy", "--sigma", repr(float(sigma)), "--n", str(int(n)), "--out", os.path.abspath(path), "--json"]
        if seed is not None:
            arguments += ["--seed", str(int(seed))]
        text = _serve(arguments + list(options), hello, lambda batch: _shaped(answer(batch, output), len(batch), output, classes), (height, width, channels), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Ledger(path, json.loads(text))


def _identity(identity: Optional[str], mean: Numbers, std: Numbers, layout: str) -> str:
    """What computes: the model, and what its images go through.

    >>> _identity("sha256:ab", 0.5, None, "chw")
    'sha256:ab, chw, mean [0.5]'
    >>> _identity(None, 0.5, None, "chw")
    ''
    """
    if identity is None:
        return ""
    parts = [identity, layout]
    for what, value in (("mean", mean), ("std", std)):
        if value is not None:
            parts.append(f"{what} {_list(value)}")
    return ", ".join(parts)


def _preprocessing(mean: Numbers, std: Numbers) -> str:
    """What happens to an image between the noise and the model, as the program prints it.

    >>> _preprocessing([0.5, 0.4, 0.3], 0.25)
    'values 0 to 1, then (x - [0.5, 0.4, 0.3]) / [0.25]'
    >>> _preprocessing(None, 0.25)
    'values 0 to 1, then x / [0.25]'
    >>> _preprocessing(None, None)
    'none: the model gets values 0 to 1'
    """
    if mean is None and std is None:
        return "none: the model gets values 0 to 1"
    text = "x" if mean is None else f"(x - {_list(mean)})"
    return "values 0 to 1, then " + (text if std is None else f"{text} / {_list(std)}")


def _list(value: Numbers) -> List[float]:
    return [float(v) for v in np.asarray(value, np.float64).reshape(-1)]


def _host(values: Any) -> Any:
    """An array in the memory of the host."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _images(images: Any) -> "np.ndarray[Any, Any]":
    """Images as uint8 (N, H, W, C).

    >>> _images(np.zeros((2, 3, 8, 8), np.uint8)).shape
    (2, 8, 8, 3)
    >>> _images(np.full((1, 4, 4), 0.5))
    Traceback (most recent call last):
    ...
    ValueError: a value of the images is 0.5; expected multiples of 1/255 from 0 to 1, or uint8
    """
    array = np.asarray(_host(images))
    if array.dtype != np.uint8:
        scaled = array.astype(np.float64) * 255
        rounded = np.rint(scaled)
        wrong = ~((np.abs(scaled - rounded) < 1e-3) & (rounded >= 0) & (rounded <= 255))
        if wrong.any():
            raise ValueError(f"a value of the images is {float(array[wrong][0])}; expected multiples of 1/255 from 0 to 1, or uint8")
        array = rounded.astype(np.uint8)
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim == 4 and array.shape[-1] not in (1, 3) and array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    if array.ndim != 4 or array.shape[-1] not in (1, 3):
        raise ValueError(f"images of shape {array.shape}; expected (N, H, W), (N, H, W, C) or (N, C, H, W) with 1 or 3 channels")
    return np.ascontiguousarray(array)


def _prepared(model: Any, mean: Numbers, std: Numbers, channels: int, layout: str) -> Callable[..., "np.ndarray[Any, Any]"]:
    """The model as a function of int16 images (n, H, W, C)."""
    def numbers(value: Numbers, what: str, missing: float) -> "np.ndarray[Any, Any]":
        array = np.asarray(missing if value is None else value, np.float32).reshape(-1)
        if len(array) not in (1, channels) or not np.isfinite(array).all() or (what == "std" and not (array > 0).all()):
            raise ValueError(f"{what} {value!r}; expected one number or {channels}" + (", above 0" if what == "std" else ""))
        return array

    shift, scale = numbers(mean, "mean", 0), numbers(std, "std", 1)
    is_module = hasattr(model, "state_dict") and hasattr(model, "eval")
    if is_module:
        import torch

        model.eval()
        first = next(model.parameters(), None)
        device = first.device if first is not None else torch.device("cpu")
        kind = first.dtype if first is not None and first.dtype.is_floating_point else torch.float32
    elif not callable(model):
        raise TypeError(f"model is of type {type(model).__name__}; expected a torch.nn.Module or a function")

    def answer(batch: "np.ndarray[Any, Any]", output: str) -> "np.ndarray[Any, Any]":
        x = (batch.astype(np.float32) / np.float32(255) - shift) / scale
        if layout == "chw":
            x = x.transpose(0, 3, 1, 2)
        x = np.ascontiguousarray(x, np.float32)
        if is_module:
            with torch.no_grad():
                rows = model(torch.from_numpy(x).to(device, kind))
                rows = rows if output == "classes" else rows.float()
                return np.asarray(rows.cpu().numpy())
        return np.asarray(_host(model(x)))

    return answer


def _shape(rows: "np.ndarray[Any, Any]") -> "tuple[int, ...]":
    if rows.ndim != 2 or rows.shape[0] != 1 or rows.shape[1] < 2:
        raise ValueError(f"the model answers one image with shape {rows.shape}; expected (1, classes)")
    return rows.shape


def _shaped(rows: "np.ndarray[Any, Any]", n: int, output: str, classes: int) -> bytes:
    want = (n,) if output == "classes" else (n, classes)
    if rows.shape != want:
        raise ValueError(f"the model answers {n} images with shape {rows.shape}; expected {want}")
    return np.ascontiguousarray(rows, "<i4" if output == "classes" else "<f4").tobytes()


def _serve(arguments: List[str], hello: bytes, answer: Callable[..., bytes], shape: "tuple[int, int, int]", folder: str) -> str:
    """Run the program in a folder, and answer its batches until it ends; return what it prints."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        try:
            child = subprocess.Popen([program(), *arguments, "--exec-fds", f"{theirs_out},{theirs_in}"], env=environment(), stdout=printed, cwd=folder,
                                     pass_fds=(theirs_in, theirs_out))
        except BaseException:
            os.close(ours_in)
            os.close(ours_out)
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        source, sink = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        try:
            _converse(source, sink, hello, answer, shape)
        except BaseException:
            child.send_signal(signal.SIGINT)  # it keeps what is finished
            _close(source, sink)
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            raise
        _close(source, sink)
        code = child.wait()
        printed.seek(0)
        text = printed.read()
    if code != 0:
        raise CertspecError(f"certspec {arguments[0]} ended with code {code}; its standard error says why" + (": it was stopped, the same call goes on" if code == 75 else ""))
    return text


def _close(*files: BinaryIO) -> None:
    for file in files:
        try:
            file.close()
        except OSError:
            pass


def _converse(source: BinaryIO, sink: BinaryIO, hello: bytes, answer: Callable[..., bytes], shape: "tuple[int, int, int]") -> None:
    try:
        sink.write(b"certspec" + struct.pack("<II", 1, len(hello)) + hello)
        sink.flush()
        while True:
            head = source.read(16)
            if len(head) < 16:
                return
            request, count, size = struct.unpack("<QII", head)
            batch = np.frombuffer(source.read(size), "<i2").reshape(count, *shape)
            content = answer(batch)
            sink.write(struct.pack("<QII", request, count, len(content)) + content)
            sink.flush()
    except BrokenPipeError:
        return  # the program has ended; its code says how
