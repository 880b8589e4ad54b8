"""Arguments as people have them: numbers, words and arrays, or a reason why not."""
from __future__ import annotations

import math
import numbers
import os
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Path = Union[str, "os.PathLike[str]"]
Numbers = Union[None, float, Sequence[float], object]  #: or an array or tensor


def whole(value: object, name: str, least: int = 0) -> int:
    """A whole number.

    >>> whole(np.float32(1000), "n"), whole(1e4, "n")
    (1000, 10000)
    """
    number = real(value, name)
    if number != math.floor(number) or number < least:
        raise ValueError(f"{name} is {value}; expected a whole number of at least {least}")
    return int(value) if isinstance(value, numbers.Integral) else int(number)


def real(value: object, name: str) -> float:
    """A finite number."""
    if hasattr(value, "item") and not isinstance(value, numbers.Number):
        value = value.item()  # an array or a tensor of one value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is a {type(value).__name__}; expected a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}; expected a finite number")
    return number


def sigma(value: object) -> float:
    """The standard deviation of the noise, where white is 1."""
    number = real(value, "sigma")
    if number > 1:
        raise ValueError(f"sigma is {number:g}, and white is 1: did you mean {number:g}/255? "
                         "The program takes larger ones")
    if number <= 0:
        raise ValueError(f"sigma is {number:g}; expected a number above 0, where white is 1")
    return number


def word(value: object, name: str, known: Sequence[str]) -> str:
    """One of some words."""
    if value not in known:
        raise ValueError(f"{name} is {value!r}; expected {' or '.join(map(repr, known))}")
    return str(value)


def host(values: Any) -> Array:
    """An array in the memory of the host: of a tensor on any device, of an array, or of lists."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()  # NumPy has no such numbers, and float32 has them all
        return np.asarray(values.numpy())
    return np.asarray(values)


def numeric(array: Array, name: str) -> Array:
    """Refuse what is no array of real numbers."""
    if array.dtype.kind not in "iuf" and array.dtype.name not in ("bfloat16",):
        raise TypeError(f"{name} are of type {array.dtype}; expected numbers")
    return array


def integers(values: object, name: str) -> NDArray[np.int64]:
    """Whole numbers as int64; what would be cut is refused.

    >>> integers([0.0, 2.0], "labels")
    array([0, 2])
    """
    array = numeric(host(values), name)
    with np.errstate(invalid="ignore"):
        cut = array.astype(np.int64)
        wrong = cut != array
    if wrong.any():
        first = array[wrong].reshape(-1)[0].item()
        raise ValueError(f"{name} hold {first}; expected whole numbers")
    return cut


def channel_values(value: Numbers, name: str, channels: int,
                   above: bool) -> Optional[Tuple[float, ...]]:
    """Mean or standard deviation: one number, or one for each channel.

    >>> channel_values(np.array([0.5, 0.25, 0.25]), "mean", 3, False)
    (0.5, 0.25, 0.25)
    """
    if value is None:
        return None
    array = numeric(host(value), name).astype(np.float64).reshape(-1)
    good = np.isfinite(array) & ((array > 0) | (not above))
    if len(array) not in (1, channels) or not good.all():
        raise ValueError(f"{name} is {value!r}; expected one number, or {channels} for the channels"
                         + (", above 0" if above else ""))
    return tuple(float(v) for v in array)
