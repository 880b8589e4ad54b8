"""What a ledger says, and the calibration of probabilities, as the program reads them."""
from __future__ import annotations

import errno
import io
import json
import os
import pathlib
import re
import shutil
import tempfile
import warnings
import weakref
from html import escape
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union, overload

import numpy as np
from numpy.typing import NDArray

from ._figure import RADIUS, Curve, Panel
from ._options import Array, Path, distances, flags, host, integers, numeric, whole
from ._program import CertspecError, run
from ._results import (
    Calibration, Calibrations, Comparison, Difference, Drawn, MeanRadius, Metrics, Summary, made)
from ._table import Cells, Interval, Result, Table

if TYPE_CHECKING:
    import pandas

Json = Union[None, bool, int, float, str, list["Json"], dict[str, "Json"]]
Row = dict[str, Union[int, float, None]]
Rows = Union["pandas.DataFrame", Table[Row]]
Columns = dict[str, NDArray[Any]]
RADII: Sequence[float] = (0.0, 0.25, 0.5, 0.75)
METRICS = ("ledger", "metrics")
WHOLE = ("idx", "label", "predict", "correct", "nA", "n", "nused", "misses")
STEPS = 200  #: most steps of a curve that are drawn


def columns_of(text: str) -> Columns:
    """The columns of a CSV text of numbers, some of which may be missing."""
    names, _, body = text.partition("\n")
    body = re.sub("(?<=,)(?=[,\n])", "nan", body)
    table = np.loadtxt(io.BytesIO(body.encode()), delimiter=",", ndmin=2)
    columns = dict(zip(names.split(","), table.reshape(-1, names.count(",") + 1).T))
    return {name: column.astype(np.int64) if name in WHOLE and not np.isnan(column).any()
            else column for name, column in columns.items()}


def read_ledger(path: Path) -> Rows:
    """The table of a ledger or a published log, a row for each image.

    Its columns are idx, label (-1: none), predict (-1: abstained), radius, correct and what
    `certspec ledger export` writes besides. A pandas.DataFrame where pandas is there, else a list
    of dicts. Log.columns has arrays, which take less memory.
    """
    columns = Log(path).columns()
    try:
        import pandas
    except ImportError:
        lists = [[None if value != value else value for value in column.tolist()]
                 for column in columns.values()]
        return Table(dict(zip(columns, row)) for row in zip(*lists))
    return pandas.DataFrame(columns)


def from_smoothing_log(path: Path, *, sigma: float | None = None, n: int | None = None,
                       alpha: float | None = None) -> "Log":
    """Read a certification log as locuslab/smoothing and its followers write them.

    Such a file has lines of idx, label, predict, radius, correct and time, without the counts
    behind them. It warns of lines and rows that are missing, and, where sigma, n and alpha are
    given, of radii above the largest that so many noise samples can prove.
    """
    log = Log(path)
    words = flags({"sigma": sigma, "n": n, "alpha": alpha})
    for warning in log._json(METRICS, words)["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return log


def report(path: Path, out: Path | None = None, format: str = "md") -> str:
    """See Ledger.report."""
    return Ledger(path).report(out, format)


class Log(Result, Drawn):
    """Certificates of images in a file, and what the program derives from them.

    Two are equal where their files are. `len` is the number of rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        if os.path.isdir(self.path):
            raise IsADirectoryError(errno.EISDIR, "a folder, which Sweep opens", self.path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.path.basename(self.path)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Log):
            return NotImplemented
        return pathlib.Path(self.path).read_bytes() == pathlib.Path(other.path).read_bytes()

    def __hash__(self) -> int:
        with open(self.path, "rb") as file:
            return hash(file.readline())  # it stays while a run goes on

    def __len__(self) -> int:
        return int(self._json(METRICS)["rows"])

    def _about(self, images: int = 0) -> str:
        return os.path.basename(self.path)

    @property
    def name(self) -> str:
        """What stands for it in a legend: the name of the file."""
        return re.sub(r"\.(ledger|tsv)$", "", os.path.basename(self.path))

    def _json(self, verb: Sequence[str], words: Sequence[str] = ()) -> dict[str, Any]:
        return dict(json.loads(run([*verb, self.path, *words, "--json"])))

    def _at(self, radii: Sequence[float] = RADII, verb: Sequence[str] = METRICS) -> dict[str, Any]:
        found = self._json(verb, flags({"radii": list(radii)}))
        if found["acr"] is None:
            raise ValueError("no decided image has a label; rows() has classes and radii")
        return found

    @property
    def acr(self) -> float:
        """The average certified radius, where wrong and abstained images count as 0."""
        return float(self._at()["acr"])

    def table(self, radii: Sequence[float] = RADII) -> Table[Cells]:
        """One row: images, abstentions, average certified radius, and certified accuracies."""
        found = self._at(distances(radii, "radii"))
        at = {f"r = {one['radius']:g}": one["value"] for one in found["certified_accuracy"]}
        return Table([{"name": self.name, "images": found["rows"], "abstained": found["abstained"],
                       "acr": found["acr"], **at}])

    _records = table

    def rows(self) -> Rows:
        """The table of read_ledger."""
        return read_ledger(self.path)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas.DataFrame; it needs the package pandas."""
        import pandas

        return pandas.DataFrame(self.columns())

    def to_csv(self) -> str:
        """The rows as comma-separated values."""
        return run(["ledger", "export", self.path, "--format", "csv"])

    def columns(self) -> Columns:
        """The table of read_ledger as an array for each column; NaN where a value is missing."""
        return columns_of(self.to_csv())

    @overload
    def certified_accuracy(self, radii: float) -> float: ...

    @overload
    def certified_accuracy(self, radii: Sequence[float] = RADII) -> list[float]: ...

    def certified_accuracy(self, radii: float | Sequence[float] = RADII) -> float | list[float]:
        """The share of images that are right and certified at least that far; of each radius."""
        at = self._at(distances(radii, "radii"))["certified_accuracy"]
        found = [float(one["value"]) for one in at]
        return found if np.ndim(radii) else found[0]

    def curve(self) -> list[tuple[float, float]]:
        """The steps of certified accuracy: it holds from the radius before up to this one."""
        columns = self.columns()
        right = (columns["correct"] == 1) & (columns["radius"] > 0)
        radii: list[float] = np.unique(columns["radius"][right]).tolist()
        return list(zip(radii, self.certified_accuracy(radii) if radii else ()))

    def _panel(self) -> Panel:
        """Certified accuracy over the radius. A ledger has 95 % intervals for the population."""
        radii = [radius for radius, _ in self.curve()] or [0.0]
        verb = ("report",) if isinstance(self, Ledger) else METRICS
        cap = self.summary.radius_cap if isinstance(self, Ledger) else 0.0
        at = self._at(radii[:-1:1 + len(radii) // STEPS] + radii[-1:], verb)["certified_accuracy"]
        low, high = ([one["interval"][end] for one in at if len(one) > 2]
                     for end in ("low", "high"))
        curve = Curve(self.name, [one["radius"] for one in at], [one["value"] for one in at], low,
                      high, "up to")
        band = "; bands: 95 % intervals" if low else ""
        return Panel([curve], RADIUS, "certified accuracy at r", "Certified accuracy by radius",
                     self._about() + band, end=cap, ledgers=[self.path])


class Ledger(Log):
    """A run and what the program derives from it: `Ledger("net.ledger")`, or from certify."""

    def __init__(self, path: Path, folder: str | None = None) -> None:
        super().__init__(path)
        self.own = folder is not None
        if folder is not None:  # it goes with this object
            weakref.finalize(self, shutil.rmtree, folder, True)

    def __len__(self) -> int:
        return self.summary.decided

    @property
    def name(self) -> str:
        """What stands for it in a legend: the name of the file, or the network and its noise."""
        if not self.own:
            return super().name
        header: Any = self.header
        return f"{header['model']['name']}, σ = {header['sigma']:g}"

    def _repr_html_(self) -> str:
        """The reader's page of the report: figures, the curve, and what is claimed."""
        try:
            page = report(self.path, format="html")
        except CertspecError as error:  # no image is decided yet
            return f"<p>{escape(f'{self!r}: {error}')}</p>"
        head = page.partition("<h2>For the reviewer</h2>")[0].partition("<body>")[2]
        return re.sub("h[12]>", "h4>", head)

    def _about(self, images: int = 0) -> str:
        """Data, network, σ, noise samples and α, below the title of a figure."""
        header: Any = self.header
        most, count = header["rule"]["looks"][-1]["copies"], images or header["data"]["images"]
        name = re.sub(r"^npy:|\.npy.*|\[.*", "", header["data"]["name"])
        name = re.sub(r"^folder:(.*/)?", "", name)
        data = f"{count:,} images" if name == "images" else f"{name} ({count:,} images)"
        return (f"{data}, {header['model']['name']}, σ = {header['sigma']:g}, n ≤ {most:,}, "
                f"α = {header['alpha']:g}")

    @property
    def summary(self) -> Summary:
        """How far the run is, and its figures."""
        return made(Summary, self._json(["ledger", "info"]))

    @property
    def header(self) -> dict[str, Json]:
        """The first line of the ledger: model, data, noise, rule and seed."""
        return dict(self._json(["ledger", "info"])["header"])

    @property
    def weights(self) -> str:
        """What identifies the model and how images enter it."""
        return str(self._json(["ledger", "info"])["header"]["model"]["identity"]["weights"])

    def verify(self) -> str:
        """Let the program derive every claim again from the counts; an error where one fails."""
        return run(["ledger", "verify", self.path])

    def report(self, out: Path | None = None, format: str = "md") -> str:
        """What a ledger claims and what it does not, for a reviewer.

        format is "md" (Markdown), "html" or "latex". Returns the text, and writes it to the file
        out where one is named.
        """
        text = run(["report", self.path, "--format", format])
        if out is not None:
            pathlib.Path(out).write_text(text, encoding="utf-8")
        return text


class Sweep(dict[str, Ledger], Result, Drawn):
    """The ledgers of a sweep in a folder, under "clean", "fog-3" and so on."""

    def __init__(self, folder: Path, own: bool = False) -> None:
        self.folder = os.path.abspath(os.fspath(folder))
        if own:  # it goes with this object
            weakref.finalize(self, shutil.rmtree, self.folder, True)
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".ledger"))
        super().__init__((name[:-7], Ledger(os.path.join(self.folder, name))) for name in names)

    def table(self) -> Table[MeanRadius]:
        """Average certified radius by corruption, by group and over all, with 95 % intervals."""
        found = json.loads(run(["ledger", "metrics", self.folder, "--json"]))
        rows = [*found["corruptions"], *found["groups"], {**found["macr"], "name": "all"}]
        return Table(made(MeanRadius, row) for row in rows)

    def _records(self) -> Sequence[Mapping[str, object]]:
        return [row._asdict() for row in self.table()]

    def _panels(self) -> list[Panel]:
        """The radius by corruption, and against the severity where there are several."""
        rows = self.table()
        names = [row.name.replace("_", " ") for row in rows]
        low, high = ([row.interval[end] if row.interval else row.acr for row in rows]
                     for end in (0, 1))
        curve = Curve("", range(len(rows)), [row.acr for row in rows], low, high, "points")
        about = next(iter(self.values()))._about() if self else ""
        title = "Average certified radius by corruption"
        panels = [Panel([curve], "", "average certified radius", title, about, names)]
        cells = run(["ledger", "metrics", *(one.path for one in self.values()), "--json"])
        lines: dict[str, dict[float, float]] = {}
        for name, line in sorted(zip(self, cells.splitlines())):  # severities are of one digit
            kind, _, severity = name.rpartition("-")
            if severity.isdigit():
                lines.setdefault(kind, {})[float(severity)] = json.loads(line)["acr"]
        if max(map(len, lines.values()), default=0) > 1:
            curves = [Curve(kind.replace("_", " "), list(at), list(at.values()))
                      for kind, at in lines.items()]
            panels.append(Panel(curves, "severity", "average certified radius",
                                "Average certified radius by severity", about))
        return panels


Source = Union[Path, Log]


def path_of(ledger: Source) -> str:
    """The absolute path of a ledger, which is there."""
    return os.path.abspath((ledger if isinstance(ledger, Log) else Log(ledger)).path)


def compare(a: Source, b: Source, radii: float | Sequence[float] = RADII) -> Comparison:
    """Differences b − a of two ledgers or logs on the same images, with bootstrap intervals.

    The heading says what differs between the two. Where it is more than the model, nothing is
    claimed about the models. p_holm is corrected by Holm's method for all of the table.
    """
    words = [path_of(a), path_of(b), "--json", *flags({"radii": distances(radii, "radii")})]
    found = json.loads(run(["ledger", "compare", *words]))
    both = zip((found["acr"], *found["certified_accuracy"]), found["verdicts"])
    rows = [made(Difference, {**one, "verdict": judged["verdict"]}) for one, judged in both]
    for warning in found["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return Comparison(found["images"], rows[0], Table(rows[1:]), found["heading"],
                      found.get("cap"), tuple(found.get("beyond") or ()))


def calibration(ledger: Source, radii: float | Sequence[float]) -> Calibrations:
    """Calibration at some radii, as it is and at worst inside the certified intervals.

    The ledger has scores: certify made it with keep_scores=True.
    """
    words = flags({"radii": distances(radii, "radii")})
    text = run(["calib", "table", path_of(ledger), "--json", *words])
    found = Calibrations(
        made(Calibration, {**row, "certified_ece": row["cce"], "certified_brier": row["cbs"]})
        for row in map(json.loads, text.splitlines()) if not row.get("constant"))
    found.about = Ledger(path_of(ledger))._about()
    return found


def metrics(probabilities: object, labels: object, bins: int = 15) -> Metrics:
    """Measure how well probabilities are calibrated, by `certspec calib metrics`.

    probabilities has a row for each sample and a column for each class, or the probability of class
    1 alone. labels are whole numbers. bins is the number of bins of equal width.
    """
    rows, classes = _samples(probabilities, labels)
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        path = os.path.join(folder, "probabilities.csv")
        head = ",".join(["label", *(f"p{column}" for column in range(rows.shape[1]))])
        np.savetxt(path, np.column_stack([classes, rows]), "%.17g", ",", header=head, comments="")
        words = ["--probabilities", path, "--bins", str(whole(bins, "bins", 1)), "--test", "0"]
        return made(Metrics, json.loads(run(["calib", "metrics", *words, "--json"])))


def ece(probabilities: object, labels: object, bins: int = 15) -> float:
    """The expected calibration error of the most probable class; see metrics.

    >>> round(ece([[0.75, 0.25], [0.25, 0.75]], [0, 0]), 6)
    0.25
    """
    return metrics(probabilities, labels, bins).ece


def _samples(probabilities: object, labels: object) -> tuple[Array, Array]:
    rows = numeric(host(probabilities), "probabilities").astype(np.float64)
    rows = np.stack([1 - rows, rows], 1) if rows.ndim == 1 else rows
    classes = integers(labels, "labels").reshape(-1)
    if (rows.ndim != 2 or len(rows) != len(classes) or not len(rows) or rows.shape[1] < 2
            or classes.min() < 0 or classes.max() >= rows.shape[1]):
        raise ValueError(f"probabilities of shape {rows.shape} and {len(classes)} labels; expected "
                         "a row for each label, and a column for each class, counted from 0")
    sums = rows.sum(axis=1)
    if not ((rows >= 0).all() and (np.abs(sums - 1) < 1e-3).all()):
        raise ValueError("a row of the probabilities is negative or does not sum to 1; for logits "
                         "take a softmax first")
    return rows / sums[:, None], classes
