"""What a ledger says, as the program reads it."""
from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from ._program import run

Path = Union[str, "os.PathLike[str]"]


def _table(path: Path) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = []
    for row in csv.DictReader(io.StringIO(run(["ledger", "export", os.fspath(path), "--format", "csv"]))):
        values: Dict[str, Any] = {}
        for name, text in row.items():
            try:
                values[name] = int(text)
            except ValueError:
                try:
                    values[name] = float(text)
                except ValueError:
                    values[name] = text or None
        rows.append(values)
    return rows


def read_ledger(path: Path) -> Any:
    """The table of a ledger, a row for each image: idx, label, predict (-1: abstained), radius, correct and what
    `certspec ledger export` writes besides. A pandas.DataFrame where pandas is there, else a list of dicts.
    """
    rows = _table(path)
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def report(path: Path, out: Optional[Path] = None, format: str = "md") -> str:
    """What a ledger claims and what it does not, for a reviewer: Markdown ("md"), "html" or "latex".

    Returns the text, and writes it to the file out where one is named.
    """
    text = run(["report", os.fspath(path), "--format", format])
    if out is not None:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    return text


@dataclass(frozen=True)
class Ledger:
    """A finished run: its ledger and what the program derived from it."""

    path: str
    summary: Dict[str, Any]  #: what `certspec certify --json` prints

    def rows(self) -> Any:
        """The table of read_ledger."""
        return read_ledger(self.path)

    def verify(self) -> str:
        """Let the program derive every claim again from the counts; an error where one does not hold."""
        return run(["ledger", "verify", self.path])

    def certified_accuracy(self, radii: Sequence[float] = (0.0, 0.25, 0.5, 0.75)) -> List[float]:
        """Shares of images that are right and certified at least that far, by `certspec log metrics`."""
        text = run(["log", "metrics", self.path, "--json", "--radii", ",".join(repr(float(r)) for r in radii)])
        found = json.loads(text)
        metrics = found[0] if isinstance(found, list) else found
        return [float(at["value"]) for at in metrics["certified_accuracy"]]

    def report(self, out: Optional[Path] = None, format: str = "md") -> str:
        """See report."""
        return report(self.path, out, format)
