"""Calibration of probabilities that people have already."""
from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Tuple

import numpy as np

from ._check import host, integers, numeric, whole
from ._program import run
from ._results import Metrics, made

if TYPE_CHECKING:
    from numpy.typing import NDArray


def metrics(probabilities: object, labels: object, bins: int = 15) -> Metrics:
    """Measure how well probabilities are calibrated, by `certspec calib metrics`.

    probabilities has a row for each sample and a column for each class, or the probability of class
    1 alone. labels are whole numbers. bins is the number of bins of equal width.
    """
    rows, classes = _samples(probabilities, labels)
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        path = os.path.join(folder, "probabilities.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write(",".join(["label", *(f"p{c}" for c in range(rows.shape[1]))]) + "\n")
            for label, row in zip(classes.tolist(), rows.tolist()):
                file.write(",".join([str(label), *map(repr, row)]) + "\n")
        words = ["--probabilities", path, "--bins", str(whole(bins, "bins", 1)), "--test", "0"]
        return made(Metrics, json.loads(run(["calib", "metrics", *words, "--json"])))


def ece(probabilities: object, labels: object, bins: int = 15) -> float:
    """The expected calibration error of the most probable class; see metrics.

    >>> round(ece([[0.75, 0.25], [0.25, 0.75]], [0, 0]), 6)
    0.25
    """
    return metrics(probabilities, labels, bins).ece


def _samples(probabilities: object,
             labels: object) -> "Tuple[NDArray[np.float64], NDArray[np.int64]]":
    rows = numeric(host(probabilities), "probabilities").astype(np.float64)
    if rows.ndim == 1:
        rows = np.stack([1 - rows, rows], 1)
    classes = integers(labels, "labels").reshape(-1)
    if rows.ndim != 2 or len(rows) != len(classes) or not len(rows) or rows.shape[1] < 2:
        raise ValueError(f"probabilities of shape {rows.shape} and {len(classes)} labels; expected "
                         "a row for each label, and a column for each class")
    sums = rows.sum(axis=1)
    if not ((rows >= 0).all() and (np.abs(sums - 1) < 1e-3).all()):
        raise ValueError("a row of the probabilities is negative or does not sum to 1; for logits "
                         "take a softmax first")
    return rows / sums[:, None], classes
