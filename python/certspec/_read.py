"""What a ledger says, as the program reads it."""
from __future__ import annotations

import csv
import io
import json
import os
import shutil
import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._options import flags
from ._program import run
from ._results import Calibration, Comparison, difference, made

if TYPE_CHECKING:
    import pandas

    from ._check import Path

    Row = Dict[str, Union[int, float, str, None]]
    Table = Union["pandas.DataFrame", List[Row]]


def _value(text: str) -> Union[int, float, str, None]:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def table_rows(text: str) -> "List[Row]":
    """The rows of a CSV text.

    >>> table_rows("idx,radius,time\\n3,0.25,\\n")
    [{'idx': 3, 'radius': 0.25, 'time': None}]
    """
    return [{name: _value(value) for name, value in row.items()}
            for row in csv.DictReader(io.StringIO(text))]


def read_ledger(path: "Path") -> "Table":
    """The table of a ledger, a row for each image.

    Its columns are idx, label, predict (-1: abstained), radius, correct and what
    `certspec ledger export` writes besides. A pandas.DataFrame where pandas is there, else a list
    of dicts.
    """
    rows = table_rows(run(["ledger", "export", os.fspath(path), "--format", "csv"]))
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def report(path: "Path", out: "Optional[Path]" = None, format: str = "md") -> str:
    """What a ledger claims and what it does not, for a reviewer.

    format is "md" (Markdown), "html" or "latex". Returns the text, and writes it to the file out
    where one is named.
    """
    text = run(["report", os.fspath(path), "--format", format])
    if out is not None:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    return text


class Ledger:
    """A run and what the program derives from it: `Ledger("net.ledger")`, or from certify."""

    def __init__(self, path: "Path", summary: Optional[Mapping[str, object]] = None,
                 folder: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        self._summary = summary
        if folder is not None:  # it goes with this object
            weakref.finalize(self, shutil.rmtree, folder, True)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    @property
    def info(self) -> Mapping[str, Any]:
        """What `certspec ledger info --json` says: header, images, digest and more."""
        found: Mapping[str, Any] = json.loads(run(["ledger", "info", self.path, "--json"]))
        return found

    @property
    def summary(self) -> Mapping[str, object]:
        """What `certspec certify --json` printed; of a ledger from elsewhere, its info."""
        return self.info if self._summary is None else self._summary

    @property
    def header(self) -> Mapping[str, Any]:
        """The first line of the ledger: model, data, noise, rule and seed."""
        header: Mapping[str, Any] = self.info["header"]
        return header

    @property
    def weights(self) -> str:
        """What identifies the model and how images enter it."""
        return str(self.header["model"]["identity"]["weights"])

    def rows(self) -> "Table":
        """The table of read_ledger."""
        return read_ledger(self.path)

    def verify(self) -> str:
        """Let the program derive every claim again from the counts; an error where one fails."""
        return run(["ledger", "verify", self.path])

    def certified_accuracy(self, radii: Sequence[float] = (0.0, 0.25, 0.5, 0.75)) -> List[float]:
        """Shares of images that are right and certified at least that far."""
        words = ",".join(repr(float(r)) for r in radii)
        metrics = json.loads(run(["log", "metrics", self.path, "--json", "--radii", words]))
        return [float(at["value"]) for at in metrics["certified_accuracy"]]

    def curve(self) -> List[Tuple[float, float]]:
        """The steps of certified accuracy: it holds from the radius before up to this one."""
        found = json.loads(run(["report", self.path, "--json"]))["curve"]
        return list(zip(found["radii"], found["accuracy"]))

    def report(self, out: "Optional[Path]" = None, format: str = "md") -> str:
        """See report."""
        return report(self.path, out, format)


def compare(a: "Path | Ledger", b: "Path | Ledger",
            radii: Sequence[float] = (0.0, 0.25, 0.5, 0.75)) -> Comparison:
    """Differences b − a of two ledgers on the same images, with paired bootstrap intervals."""
    paths = [one.path if isinstance(one, Ledger) else os.fspath(one) for one in (a, b)]
    found = json.loads(run(["log", "compare", *paths, "--json", *flags({"radii": list(radii)})]))
    return Comparison(found["images"], difference(found["acr"]),
                      [difference(at) for at in found["certified_accuracy"]])


def calibration(ledger: "Path | Ledger", radii: Sequence[float]) -> List[Calibration]:
    """Calibration at some radii, as it is and at worst inside the certified intervals.

    The ledger has scores: certify made it with keep_scores=True.
    """
    path = ledger.path if isinstance(ledger, Ledger) else os.fspath(ledger)
    text = run(["calib", "table", path, "--json", *flags({"radii": list(radii)})])
    rows = [json.loads(line) for line in text.splitlines()]
    return [made(Calibration, {**row, "certified_ece": row["cce"], "certified_brier": row["cbs"]})
            for row in rows if not row.get("constant")]
