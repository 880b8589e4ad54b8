"""Methods of several starts: networks that were trained from other random weights."""
from __future__ import annotations

import glob
import json
import os
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from ._program import run
from ._table import Cells, Interval, Path, Result, Table


class Starts(Result):
    """Results of one method, `values[start, image]`, and their mean with its interval."""

    def __init__(self, pattern: str, cells: str, what: str, found: Mapping[str, Any]) -> None:
        self.pattern, self.cells, self.what = pattern, cells, what
        self.sets: list[str] = found["sets"]  #: over which the values are means
        self.starts: list[str] = found["a"]["starts"]
        self.images: list[int] = found["a"]["images"]
        self.values: NDArray[np.float64] = np.array(found["a"]["values"])
        self.mean = float(found["a"]["mean"]["value"])
        self.interval = Interval(**found["a"]["mean"]["interval"])

    def __repr__(self) -> str:
        return f"{self.what} {self.mean:.3f} ({self.interval}): " + ", ".join(self._notes())

    def _records(self) -> Sequence[Mapping[str, object]]:
        rows: list[Mapping[str, object]] = [
            {"start": os.path.basename(start), self.what: float(value), "interval": None}
            for start, value in zip(self.starts, self.values.mean(axis=1))]
        return [*rows, {"start": "mean", self.what: self.mean, "interval": self.interval}]

    def _notes(self) -> Sequence[str]:
        return [f"{len(self.images)} images", f"{len(self.starts)} starts",
                f"{self.cells}: {len(self.sets)} sets" if len(self.sets) > 1 else self.cells]


def starts(pattern: Path, cells: str = "clean", *, what: str = "acr") -> Starts:
    """Read what the networks of one method have: a path for each, as in "runs/ours-?".

    A path is a folder of ledgers, as sweep makes one, or a file of `certspec experiment run`. cells
    is "clean", a corruption such as "fog-3" or "fog", or a family or group, such as "C" or "C Low";
    of several sets it is the mean. what is "acr", the average certified radius, or "ca 0.5", the
    certified accuracy at a radius. The interval is over images and, of two or more, over starts.
    """
    name = os.fspath(pattern)
    return Starts(name, cells, what, _asked([name], cells, what))


class _Paired(NamedTuple):
    value: float
    interval: Interval
    p: float  #: of no difference
    images: int
    starts: tuple[int, int]
    what: str


class Paired(_Paired, Result):
    """The difference of two methods on the same images, the first less the second."""


def paired(a: Starts, b: Starts) -> Paired:
    """The difference a − b of two methods on the same images, with its interval.

    Images are drawn again, each with its results in both, and the starts of each method: another
    training comes out otherwise. Of one start each, it holds for these networks alone.
    """
    if not isinstance(a, Starts) or not isinstance(b, Starts):
        raise TypeError("expected what starts returns, twice")
    if (a.cells, a.what) != (b.cells, b.what):
        raise ValueError(f"a is {a.what} of {a.cells}, b {b.what} of {b.cells}; expected the same")
    found = _asked([a.pattern, b.pattern], a.cells, a.what)["difference"]
    return Paired(found["value"], Interval(**found["interval"]), found["p"],
                  len(set(a.images) & set(b.images)), (len(a.starts), len(b.starts)), a.what)


def _asked(patterns: Sequence[str], cells: str, what: str) -> dict[str, Any]:
    for pattern in patterns:
        if not glob.glob(pattern):
            raise FileNotFoundError(f"{pattern} matches nothing; expected folders of ledgers, or "
                                    "files of certspec experiment run")
    words = ["ledger", "starts", *patterns, f"--on={cells}", f"--what={what}", "--json"]
    return dict(json.loads(run(words, show=False))[0])


class Verdicts(Table[Cells]):
    """Claims with their differences, judged together."""

    def _notes(self) -> Sequence[str]:
        return [f"p_holm is corrected by Holm for these {len(self)} claims; at most 0.05 is a "
                "verdict. An interval of 95 % stands for one difference alone."]


def verdicts(found: Mapping[str, Paired]) -> Verdicts:
    """Judge claims together: differences by the claim that each is for, as paired returns them.

    A claim is higher or lower where its p, corrected by Holm's method for all claims of the table,
    is at most 0.05; else it is open.
    """
    if not isinstance(found, Mapping) or not found \
            or not all(isinstance(one, Paired) for one in found.values()):
        raise TypeError("found is no dict of differences; expected {claim: paired(a, b), …}")
    holm = holm_of([one.p for one in found.values()])
    return Verdicts({
        "claim": claim, "difference": one.value, "interval": one.interval, "p_holm": p,
        "verdict": "open" if p > 0.05 else "higher" if one.value > 0 else "lower",
        "starts": " and ".join(map(str, one.starts)), "images": one.images}
        for (claim, one), p in zip(found.items(), holm))


def holm_of(values: Sequence[float]) -> list[float]:
    """Holm's correction (1979): the k-th smallest of m counts m − k + 1 times, and none less.

    >>> holm_of([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, least = sorted(range(len(values)), key=values.__getitem__), 0.0
    corrected = [0.0] * len(values)
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[at]))
        corrected[at] = least
    return corrected
