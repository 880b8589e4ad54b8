"""Images and labels as people have them, as the files that the program reads."""
from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any, Iterable, Iterator, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from ._options import Array, Path, host, integers, numeric, word

Pixels = NDArray[np.uint8]
Piece = tuple[object, Optional[object]]  #: images, and their labels where they come along
PIECE = 1 << 20  #: bytes of images that are converted at once
IMAGE_KEYS = ("image", "img", "pixel_values", "images")
LABEL_KEYS = ("label", "labels", "fine_label")


class Images(NamedTuple):
    """Images in files of a folder."""
    data: str  #: value of --data, with whole paths
    first: Pixels  #: the first one, (height, width, channels)
    labels: NDArray[np.int64] | None


def save(images: object, labels: object, folder: str, layout: str | None, name: str) -> Images:
    """Write images and labels for the program, piece by piece."""
    word(layout or "chw", "image_layout", ("chw", "hwc"))
    if not name or set(name) & set(',[]/\\\0') or not name.isprintable():
        raise ValueError(f"data_name is {name!r}; expected a name without , [ ] / or \\")
    path = os.path.join(folder, name + ".npy")
    try:
        with open(path, "wb") as file:
            first, count, found = _write(file, _pieces(images, labels), layout)
        known = _labels(found, labels, count)
        data = f"npy:{path}"
        if known is not None:
            np.save(os.path.join(folder, "labels.npy"), known)
            data += f",{folder}/labels.npy"
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(error.errno, f"{error.strerror}: the images go into the temporary folder "
                      f"{folder}; TMPDIR names another", path) from error
    return Images(data, first, known)


def _write(file: IO[bytes], pieces: Iterator[Piece],
           layout: str | None) -> tuple[Pixels, int, list[object]]:
    """Write all pieces as one array of a .npy file, whose number of images stands at its head."""
    first: Pixels | None = None
    count, found = 0, []
    for images, labels in pieces:
        pixels, layout = _pixels(images, layout)
        if first is None:
            first = pixels[0].copy()
            file.write(_head(0, first.shape))
        if pixels.shape[1:] != first.shape:
            raise ValueError(f"images of {first.shape}, then of {pixels.shape[1:]} (height, width, "
                             "channels); expected one size")
        file.write(pixels.data)
        count += len(pixels)
        found += [] if labels is None else [labels]
    if first is None:
        raise ValueError("there are no images")
    file.seek(0)
    file.write(_head(count, first.shape))
    return first, count, found


def _head(count: int, shape: Sequence[int]) -> bytes:
    """The head of a .npy file, 192 bytes long for all counts."""
    sides = ", ".join(map(str, (count, *shape)))
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({sides}), }}"
    return b"\x93NUMPY\x01\x00\xb6\x00" + text.ljust(181).encode() + b"\n"


def _pixels(images: object, layout: str | None) -> tuple[Pixels, str | None]:
    """Images as uint8 (N, H, W, C), and where their channels stood."""
    array = _bytes(numeric(host(images), "images"))
    if array.ndim == 3:
        array = array[..., None]
    elif array.ndim == 4:
        chw, hwc = array.shape[1] in (1, 3), array.shape[3] in (1, 3)
        if layout is None and chw and hwc:
            raise ValueError(f"images of shape {array.shape} fit (N, C, H, W) and (N, H, W, C): "
                             "say image_layout='chw' or 'hwc'")
        layout = layout or ("chw" if chw else "hwc")
        array = array.transpose(0, 2, 3, 1) if layout == "chw" else array
    if array.ndim != 4 or array.shape[-1] not in (1, 3):
        raise ValueError(f"images of shape {array.shape}; expected (N, H, W), (N, H, W, C) or "
                         "(N, C, H, W) with 1 or 3 channels")
    return np.ascontiguousarray(array), layout


def _bytes(array: Array) -> Pixels:
    """Values as bytes."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        bytes_ = array.dtype.kind in "iu" and array.size and 0 <= array.min() <= array.max() <= 255
        raise ValueError(f"images of type {array.dtype}; expected uint8, or reals from 0 to 1"
                         + (": give images.astype(np.uint8)" if bytes_ else ""))
    near = 0.08 if array.dtype == np.float16 else 1e-3  # what rounding to the type moves a byte
    scaled = array.astype(np.float64) * 255
    rounded = np.rint(scaled)
    good = (np.abs(scaled - rounded) < near) & (rounded >= 0) & (rounded <= 255)
    if not good.all():
        raise ValueError(_mistake(array, array[~good][0].item()))
    return rounded.astype(np.uint8)


def _mistake(array: Array, value: float) -> str:
    """What is wrong with real images, a value of which is no multiple of 1/255; the remedy."""
    if not np.isfinite(array).all():
        return f"a value of the images is {value}; expected finite numbers"
    low, high = array.min().item(), array.max().item()
    values = f"the images have values from {low:.4g} to {high:.4g}, such as {value:.6g}"
    if low >= 0 and 8 < high <= 255:
        return f"{values}: bytes as reals. Give np.rint(images).astype(np.uint8)"
    if 0 <= low and high <= 1:
        return (f"{values}: between the steps of 1/255, as resizing makes them. A certificate is "
                "about 8-bit images: give np.rint(images * 255).astype(np.uint8)")
    return (f"{values}: normalised. Noise comes before the normalisation: give the images as they "
            "were before it, 0 to 1, and mean and std to this call")


def _pieces(images: Any, labels: object) -> Iterator[Piece]:
    """Images in pieces: of an array or tensor, a sequence of images, or an iterable of batches."""
    if hasattr(images, "dtype") and hasattr(images, "shape"):
        shape = tuple(images.shape)
        many = labels is None or len(host(labels).reshape(-1)) != shape[0]
        if len(shape) == 3 and (shape[0] in (1, 3) or shape[2] in (1, 3)) and many:
            raise ValueError(f"images of shape {shape} may be one image in colour or {shape[0]} "
                             "grey ones: give images[None], or (N, H, W, 1)")
        size = max(1, int(np.prod(images.shape[1:], dtype=np.int64)) * 8)
        step = max(1, PIECE // size)
        return ((images[at:at + step], None) for at in range(0, len(images), step))
    if hasattr(images, "__len__") and hasattr(images, "__getitem__"):
        images = map(images.__getitem__, range(len(images)))  # some have no end of their own
    if isinstance(images, Iterable):
        return _batches(map(_parted, images))
    raise TypeError(f"images are a {type(images).__name__}; expected an array, a tensor, a "
                    "Dataset, a DataLoader or another iterable")


def _parted(item: object) -> Piece:
    """An item of a data set: an image or a batch, alone, with its label, or under their names."""
    if isinstance(item, dict):
        keys = [key for key in IMAGE_KEYS if key in item]
        if not keys:
            raise TypeError(f"an item has the keys {sorted(map(str, item))}; expected one of "
                            f"{', '.join(IMAGE_KEYS)}")
        return item[keys[0]], next((item[key] for key in LABEL_KEYS if key in item), None)
    if isinstance(item, (tuple, list)) and len(item) == 2 and np.ndim(host(item[0])) >= 2 \
            and np.ndim(host(item[1])) < 2:
        return item[0], item[1]
    if isinstance(item, (tuple, list)) and len({np.ndim(host(part)) for part in item}) > 1:
        raise TypeError(f"an item has {len(item)} parts; expected images, or (images, labels)")
    return item, None


def _gathered(items: Iterator[Piece]) -> Iterator[Piece]:
    """Pieces of single images."""
    for first in items:
        step = max(1, PIECE // max(1, 8 * host(first[0]).size))
        some = [first, *islice(items, step - 1)]
        labels = [host(label) for _, label in some if label is not None]
        yield np.stack([host(image) for image, _ in some]), np.stack(labels) if labels else None


def _batches(items: Iterator[Piece]) -> Iterator[Piece]:
    """Batches as they come; single images, where the first item is one, some at a time."""
    first = next(items, None)
    if first is None:
        return iter(())
    shape = np.shape(host(first[0]))
    alone = len(shape) == 2 or len(shape) == 3 and np.ndim(host(first[1])) == 0 \
        and (shape[0] in (1, 3) or shape[2] in (1, 3))
    rest = chain([first], items)
    return _gathered(rest) if alone else rest


def _labels(found: list[object], given: object, count: int) -> NDArray[np.int64] | None:
    """One class for each image, or none at all."""
    if found and given is not None:
        raise ValueError("the images bring labels along, and labels are given: expected either")
    if not found and given is None:
        return None
    values = np.concatenate([np.atleast_1d(host(part)) for part in found]) if found else given
    labels = integers(values, "labels")
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise ValueError(f"labels of shape {labels.shape}: several for an image, and a certificate "
                         "is about one class; for rows with a single 1 give labels.argmax(1)")
    labels = labels.reshape(-1)
    if len(labels) != count:
        raise ValueError(f"{count} images and {len(labels)} labels")
    return labels


class Filtered(os.PathLike[str]):
    """Images of some frequencies, a data set: every function takes it. See band."""

    def __init__(self, folder: str, name: str, about: str, labelled: bool) -> None:
        self.folder, self.name, self.about = folder, name, about
        self._file = os.path.join(folder, name)
        self._labelled = labelled
        weakref.finalize(self, shutil.rmtree, folder, True)

    @property
    def pixels(self) -> Pixels:
        """The images, uint8 (N, H, W, C)."""
        pixels: Pixels = np.load(self._file + ".npy")
        return pixels

    def __fspath__(self) -> str:
        labels = f",{self._file}.labels.npy" if self._labelled else ""
        return f"npy:{self._file}.npy{labels}"

    def __repr__(self) -> str:
        return f"{self.name}: {self.about}"


@contextmanager
def kept(path: Path | None) -> Iterator[str]:
    """The path, or a new folder, which goes where making what it holds fails."""
    own = tempfile.mkdtemp(prefix="certspec-") if path is None else None
    try:
        yield own or os.path.abspath(os.fspath(path or ""))
    except BaseException:
        if own is not None:
            shutil.rmtree(own, True)
        raise
