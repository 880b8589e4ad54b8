"""Figures and tables of several results, as one types them in a cell."""
from __future__ import annotations

from typing import Any, Iterator, Sequence

from ._figure import Panel, Picture, draw
from ._read import RADII, Log
from ._results import Drawn
from ._table import Cells, Path, Result, Table


def _flat(results: Any) -> Iterator[Any]:
    """Results one by one, also those of lists; tables are lists that stay whole."""
    for one in results:
        if isinstance(one, (list, tuple)) and not isinstance(one, Result):
            yield from _flat(one)
        else:
            yield one


def plot(*results: Drawn | Sequence[Drawn], title: str | None = None,
         labels: Sequence[str] | None = None, columns: float | None = None,
         out: Path | None = None) -> Picture:
    """Draw results as one figure: ledgers and logs in common axes, other results side by side.

    labels stand for the ledgers in the legend, in their order. columns is the width in columns of a
    paper, 1 or 2, with letters of 8 points. out saves it as .svg, .png or .pdf. Curves of what is
    proven are stairs: a value holds from the radius before up to its own.
    """
    things = list(_flat(results))
    if not things:
        raise ValueError("results are missing: expected ledgers, or what verbs return")
    for one in things:
        if not isinstance(one, Drawn):
            raise TypeError(f"a result is a {type(one).__name__}; expected a Ledger, Log, Sweep, "
                            "or what calibration, attack, heatmap or spectrum returns")
    runs = [one for one in things if isinstance(one, Log)]
    if labels is not None and (isinstance(labels, str) or len(labels) != len(runs)):
        raise ValueError(f"labels is {labels!r}; expected a name for each of {len(runs)} ledgers")
    panels = [_together(runs, labels)] if runs else []
    for one in things:
        if not isinstance(one, Log):
            panels += one._panels()
    if title is not None:
        panels[0] = panels[0]._replace(title=title)
    return draw(panels, None, None, columns, out)


def _together(runs: Sequence[Log], labels: Sequence[str] | None) -> Panel:
    """The curves of several runs, with what they have in common below the title."""
    panels = [run._panel() for run in runs]
    parts = [panel.about.split(", ") for panel in panels]
    common = ", ".join(part for part in parts[0] if all(part in others for others in parts))
    curves = [curve._replace(label=curve.label if labels is None else labels[number])
              for number, panel in enumerate(panels) for curve in panel.curves]
    return panels[0]._replace(curves=curves, about=common, end=max(panel.end for panel in panels),
                              ledgers=[run.path for run in runs])


def table(*results: Result | Log | Sequence[Log], radii: Sequence[float] = RADII,
          out: Path | None = None) -> Table[Cells]:
    """A table of results, and its file where out names one: .tex, .csv, .md, .html or .txt.

    Ledgers and logs have a row each, with their average certified radius and certified accuracies.
    """
    things = list(_flat(results))
    runs = [one for one in things if isinstance(one, Log)]
    if len(runs) == len(things) > 0:
        saved: Result = Table(row for run in runs for row in run.table(radii))
    elif len(things) == 1 and isinstance(things[0], Result):
        saved = things[0]
    else:
        raise TypeError("expected ledgers, or one result that is a table, such as a Sweep")
    if out is not None:
        saved.save(out)
    records: Any = saved if isinstance(saved, Table) else saved._records()
    return records if isinstance(saved, Table) else Table(records)
