"""Tables: on a screen, in a notebook, in a paper, and in a file."""
from __future__ import annotations

import csv
import io
import os
from html import escape
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence, TypeVar, Union

if TYPE_CHECKING:
    import pandas

Kind = TypeVar("Kind")
Path = Union[str, "os.PathLike[str]"]
FIGURES = (".svg", ".png", ".pdf")
SHOWN, LEFT = 30, ' style="text-align:left"'  #: rows of a table, and its columns of words
WORDS = {"acr": "ACR", "ece": "ECE", "brier": "Brier score", "gaussian": "Gaussian", "jpeg": "JPEG"}
SPECIAL = str.maketrans({c: "\\" + c for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "σ": r"$\sigma$", "ℓ": r"$\ell$", "α": r"$\alpha$", "≤": r"$\le$"})


class Interval(NamedTuple):
    """A confidence interval, its ends included."""
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}".replace("-", "−")


Cells = dict[str, Union[None, int, float, str, Interval]]  #: a row by column


class Result:
    """What shows itself as a table: in a notebook, as pandas, in LaTeX, and in a file."""
    about = ""  #: data, network and settings, below the title of a figure

    def _records(self) -> Sequence[Mapping[str, object]]:
        """The rows, each with its cells by column."""
        return [self._asdict()]  # type: ignore[attr-defined]

    def _notes(self) -> Sequence[str]:
        """Sentences that belong to the numbers."""
        return ()

    def _repr_html_(self) -> str:
        records = self._records()
        cells = _cells(records[:SHOWN])
        left = [LEFT * any(c.strip("0123456789,.−e") for c in words[1:]) for words in zip(*cells)]
        lines = ["".join(f"<{tag}{style}>{escape(cell)}</{tag}>" for style, cell in zip(left, line))
                 for tag, line in zip(chain(["th"], repeat("td")), cells)]
        more = f"<p>{len(records) - SHOWN} more rows</p>" if len(records) > SHOWN else ""
        table = "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>" + more
        return table + "".join(f"<p>{escape(note)}</p>" for note in self._notes())

    def to_text(self) -> str:
        """The table with aligned columns, at most 30 rows."""
        records = self._records()
        lines = _cells(records[:SHOWN])
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        more = [f"{len(records) - SHOWN} more rows"] * (len(records) > SHOWN)
        return "\n".join([*text, *more, *self._notes()])

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas.DataFrame, with all digits; it needs the package pandas."""
        import pandas

        return pandas.DataFrame([_flat(record) for record in self._records()])

    def to_latex(self) -> str:
        """The table in LaTeX, for the package booktabs."""
        cells = _cells(self._records(), str.translate, SPECIAL)
        form = "l" + "r" * (len(cells[0]) - 1 if cells else 0)
        lines = [" & ".join(line) + r" \\" for line in cells]
        lines[1:1] = [r"\midrule"]
        notes = [note.translate(SPECIAL) + r"\par" for note in self._notes()]
        return "\n".join([rf"\begin{{tabular}}{{{form}}}", r"\toprule", *lines, r"\bottomrule",
                          r"\end{tabular}", *notes]) + "\n"

    def to_markdown(self) -> str:
        """The table in Markdown."""
        lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |"
                 for line in _cells(self._records())]
        lines[1:1] = ["| --- " + "| ---: " * (lines[0].count(" | ")) + "|"] if lines else []
        return "\n".join([*lines, *(f"\n{note}" for note in self._notes())]) + "\n"

    def to_csv(self) -> str:
        """The table as comma-separated values, with all digits."""
        records = [_flat(record) for record in self._records()]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def save(self, path: Path) -> str:
        """Write the table as its ending says, .tex, .csv, .md, .html or .txt; return the path.

        What draws itself writes its figure, where the path ends in .svg, .png or .pdf.
        """
        forms: dict[str, Callable[[], str]] = {
            ".tex": self.to_latex, ".csv": self.to_csv, ".md": self.to_markdown,
            ".html": self._repr_html_, ".txt": lambda: self.to_text() + "\n"}
        ending = os.path.splitext(os.fspath(path))[1].lower()
        draw: Any = getattr(self, "plot", None)
        if draw and ending in FIGURES:
            draw(out=path)
            return os.fspath(path)
        if ending not in forms:
            further = ", or a figure: .svg, .png or .pdf" if draw else ""
            raise ValueError(f"{os.fspath(path)}: no form for a table; expected "
                             ".tex, .csv, .md, .html or .txt" + further)
        text = forms[ending]()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(path)


class Table(list[Kind], Result):
    """A list of results, or of rows by column, that a notebook shows as a table."""

    def _records(self) -> Sequence[Mapping[str, object]]:
        some: Any = self
        return [row if isinstance(row, dict) else row._asdict() for row in some]

    def __repr__(self) -> str:
        return self.to_text()


def _flat(record: Mapping[str, object]) -> dict[str, object]:
    """Cells with the ends of intervals in columns of their own."""
    out: dict[str, object] = {}
    for name, cell in record.items():
        if isinstance(cell, Interval):
            out.update({f"{name}_low": cell.low, f"{name}_high": cell.high})
        elif isinstance(cell, Result):
            continue  # a table in a table
        else:
            out[name] = cell
    return out


def _cells(records: Sequence[Mapping[str, object]], *escaped: Any) -> list[tuple[str, ...]]:
    """The names of the columns, then the rows, as people write them."""
    table: list[list[str]] = []
    for name in records[0] if records else ():
        column = [record[name] for record in records]
        if any(isinstance(cell, Result) for cell in column):
            continue
        short = all(cell == round(cell, 2) for cell in column if isinstance(cell, float))
        cells = [_text(cell, short) for cell in column]
        if name == "name":
            cells = [" ".join(WORDS.get(word, word) for word in cell.split("_")) for cell in cells]
        if escaped:  # a method and what it takes
            name = " ".join(WORDS.get(word, word) for word in name.split("_"))
            name, cells = escaped[0](name, escaped[1]), [escaped[0](c, escaped[1]) for c in cells]
        table.append([name, *cells])
    return list(zip(*table))


def _text(cell: object, short: bool) -> str:
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return "" if cell is None else str(cell)
    if cell != cell:
        return ""
    form = (",.0f" if isinstance(cell, int) or abs(cell) >= (1000 if short else 100) else
            "g" if short else ".3f" if abs(cell) > 5e-4 or not cell else ".0e")
    return format(cell, form).replace("-", "−")
