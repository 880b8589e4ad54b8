"""What a ledger says, and the calibration of probabilities, as the program reads them."""
from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import shutil
import tempfile
import weakref
from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._check import Array, Path, host, integers, numeric, whole
from ._options import flags
from ._program import CertspecError, run
from ._results import Calibration, Calibrations, Comparison, Difference, Metrics, made
from ._show import Curve, Picture, Table, draw, stairs

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Row = Dict[str, Union[int, float, None]]
Rows = Union["pandas.DataFrame", Table[Row]]
STEPS = 200  #: most steps of a curve that are drawn


def _rows(text: str) -> Table[Row]:
    """The rows of a CSV text of numbers, some of which may be missing."""
    return Table({name: json.loads(value) if value else None for name, value in row.items()}
                 for row in csv.DictReader(io.StringIO(text)))


def read_ledger(path: Path) -> Rows:
    """The table of a ledger, a row for each image.

    Its columns are idx, label, predict (-1: abstained), radius, correct and what
    `certspec ledger export` writes besides. A pandas.DataFrame where pandas is there, else a list
    of dicts.
    """
    rows = _rows(run(["ledger", "export", os.fspath(path), "--format", "csv"]))
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def report(path: Path, out: Optional[Path] = None, format: str = "md") -> str:
    """What a ledger claims and what it does not, for a reviewer.

    format is "md" (Markdown), "html" or "latex". Returns the text, and writes it to the file out
    where one is named.
    """
    text = run(["report", os.fspath(path), "--format", format])
    if out is not None:
        pathlib.Path(out).write_text(text, encoding="utf-8")
    return text


class Ledger:
    """A run and what the program derives from it: `Ledger("net.ledger")`, or from certify."""

    def __init__(self, path: Path, summary: Optional[Mapping[str, object]] = None,
                 folder: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        self._summary = summary
        if folder is not None:  # it goes with this object
            weakref.finalize(self, shutil.rmtree, folder, True)

    def __repr__(self) -> str:
        return f"Ledger({os.path.relpath(self.path)!r})"

    def _repr_html_(self) -> str:
        """The first part of the report: figures, what is claimed, and the curve."""
        try:
            page = report(self.path, format="html")
        except CertspecError as error:  # no image is decided yet
            return f"<p>{escape(f'{self!r}: {error}')}</p>"
        head, _, rest = page.partition("<h2>What is assumed</h2>")
        figure = re.search(r"<figure>.*?</figure>", rest, re.DOTALL)
        head = re.sub("h[12]>", "h4>", head.partition("<body>")[2])
        return head + (figure.group() if figure else "")

    def _json(self, verb: Sequence[str], words: Sequence[str] = ()) -> Dict[str, Any]:
        return dict(json.loads(run([*verb, self.path, *words, "--json"])))

    @property
    def info(self) -> Mapping[str, object]:
        """What `certspec ledger info --json` says: header, images, digest and more."""
        return self._json(["ledger", "info"])

    @property
    def summary(self) -> Mapping[str, object]:
        """What `certspec certify --json` printed; of a ledger from elsewhere, its info."""
        return self.info if self._summary is None else self._summary

    @property
    def header(self) -> Mapping[str, object]:
        """The first line of the ledger: model, data, noise, rule and seed."""
        return dict(self._json(["ledger", "info"])["header"])

    @property
    def weights(self) -> str:
        """What identifies the model and how images enter it."""
        return str(self._json(["ledger", "info"])["header"]["model"]["identity"]["weights"])

    def rows(self) -> Rows:
        """The table of read_ledger."""
        return read_ledger(self.path)

    def verify(self) -> str:
        """Let the program derive every claim again from the counts; an error where one fails."""
        return run(["ledger", "verify", self.path])

    def certified_accuracy(self, radii: Sequence[float] = (0.0, 0.25, 0.5, 0.75)) -> List[float]:
        """Shares of images that are right and certified at least that far."""
        metrics = self._json(["ledger", "metrics"], flags({"radii": list(radii)}))
        return [float(at["value"]) for at in metrics["certified_accuracy"]]

    def curve(self) -> List[Tuple[float, float]]:
        """The steps of certified accuracy: it holds from the radius before up to this one."""
        found = self._json(["report"])["curve"]
        return list(zip(found["radii"] or (), found["accuracy"] or ()))

    def plot(self, ax: Optional[Axes] = None) -> Picture:
        """Draw certified accuracy over the radius, with 95 % intervals, in axes of matplotlib."""
        radii = [radius for radius, _ in self.curve()] or [0.0]
        radii = radii[:-1:1 + len(radii) // STEPS] + radii[-1:]
        at = self._json(["report"], flags({"radii": radii}))["certified_accuracy"]
        if not at[0]["images"]:
            raise ValueError("no image of the ledger has a label, so it has no certified accuracy")
        x, y = stairs(radii, [one["value"] for one in at])
        low, high = (stairs(radii, [one["interval"][end] for one in at])[1]
                     for end in ("low", "high"))
        return draw([Curve("certified, 95 % interval", x, y, low, high)], "certified accuracy", ax)

    def report(self, out: Optional[Path] = None, format: str = "md") -> str:
        """See report."""
        return report(self.path, out, format)


Source = Union[Path, Ledger]


def path_of(ledger: Source) -> str:
    """The absolute path of a ledger."""
    return os.path.abspath(ledger.path if isinstance(ledger, Ledger) else os.fspath(ledger))


def compare(a: Source, b: Source,
            radii: Sequence[float] = (0.0, 0.25, 0.5, 0.75)) -> Comparison:
    """Differences b − a of two ledgers on the same images, with paired bootstrap intervals."""
    words = [path_of(a), path_of(b), "--json", *flags({"radii": list(radii)})]
    found = json.loads(run(["ledger", "compare", *words]))
    return Comparison(found["images"], made(Difference, found["acr"]),
                      [made(Difference, at) for at in found["certified_accuracy"]])


def calibration(ledger: Source, radii: Sequence[float]) -> Calibrations:
    """Calibration at some radii, as it is and at worst inside the certified intervals.

    The ledger has scores: certify made it with keep_scores=True.
    """
    text = run(["calib", "table", path_of(ledger), "--json", *flags({"radii": list(radii)})])
    rows = [json.loads(line) for line in text.splitlines()]
    return Calibrations(
        made(Calibration, {**row, "certified_ece": row["cce"], "certified_brier": row["cbs"]})
        for row in rows if not row.get("constant"))


def metrics(probabilities: object, labels: object, bins: int = 15) -> Metrics:
    """Measure how well probabilities are calibrated, by `certspec calib metrics`.

    probabilities has a row for each sample and a column for each class, or the probability of class
    1 alone. labels are whole numbers. bins is the number of bins of equal width.
    """
    rows, classes = _samples(probabilities, labels)
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        path, columns = os.path.join(folder, "probabilities.csv"), range(rows.shape[1])
        head = ",".join(["label", *(f"p{column}" for column in columns)])
        np.savetxt(path, np.column_stack([classes, rows]), ["%d"] + ["%.17g"] * len(columns), ",",
                   header=head, comments="")
        words = ["--probabilities", path, "--bins", str(whole(bins, "bins", 1)), "--test", "0"]
        return made(Metrics, json.loads(run(["calib", "metrics", *words, "--json"])))


def ece(probabilities: object, labels: object, bins: int = 15) -> float:
    """The expected calibration error of the most probable class; see metrics.

    >>> round(ece([[0.75, 0.25], [0.25, 0.75]], [0, 0]), 6)
    0.25
    """
    return metrics(probabilities, labels, bins).ece


def _samples(probabilities: object, labels: object) -> Tuple[Array, Array]:
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
