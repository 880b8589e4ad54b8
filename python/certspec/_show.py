"""Results in a notebook: lists as tables, and figures by matplotlib or, without it, as SVG."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence
from typing import Tuple, TypeVar, Union

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = TypeVar("Kind")
Floats = Sequence[float]
SIZE, LEFT, BELOW = (460, 300), 52, 44  #: of a figure as SVG; room for the labels
COLOURS = ("#0072b2", "#d55e00", "#009e73")  #: also told apart without red and green
SHOWN = 30  #: rows of a table


class Table(List[Kind]):
    """A list of results, or of rows by column, that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows: List[Any] = list(self)
        return html_table([row if isinstance(row, dict) else row._asdict() for row in rows])


def html_table(rows: Sequence[Mapping[str, object]]) -> str:
    """The first rows as a table of a page.

    >>> html_table([{"set": "fog<", "share": 0.123456}])
    '<table><tr><th>set</th><th>share</th></tr>\\n<tr><td>fog&lt;</td><td>0.1235</td></tr></table>'
    """
    lines = [_row("th", rows[0])] if rows else []
    lines += [_row("td", row.values()) for row in rows[:SHOWN]]
    more = f"<p>{len(rows) - SHOWN} more rows</p>" if len(rows) > SHOWN else ""
    return "<table>" + "\n".join(lines) + "</table>" + more


def _row(tag: str, cells: Iterable[object]) -> str:
    texts = ["" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
             for cell in cells]
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"


class Svg(str):
    """A figure as SVG, which a notebook shows."""

    _repr_svg_ = str.__str__


Picture = Union["Figure", Svg]


class Curve(NamedTuple):
    """A line through points; an area, where `low` is there, reaches from there to `high`."""

    label: str
    x: Floats
    y: Floats = ()
    low: Floats = ()
    high: Floats = ()


def stairs(x: Floats, y: Floats) -> Tuple[List[float], List[float]]:
    """The points of steps, each of which holds from the x before up to its own.

    >>> stairs([0.5, 1.0], [0.75, 0.25])
    ([0.0, 0.5, 0.5, 1.0, 1.0], [0.75, 0.75, 0.25, 0.25, 0.0])
    """
    return [0.0] + [at for at in x for _ in "12"], [at for at in y for _ in "12"] + [0.0]


def draw(curves: Sequence[Curve], y_label: str, ax: Optional[Axes]) -> Picture:
    """Curves over the radius, in axes of matplotlib or as a figure of its own."""
    x_label = "ℓ2 radius (white = 1)"
    try:
        from matplotlib import pyplot
    except ImportError:
        return Svg(_svg(curves, x_label, y_label))
    axes = ax or pyplot.figure(figsize=(6.4, 4.2), layout="constrained").subplots()
    if ax is None:
        pyplot.close()  # a cell shows what it returns: once
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        if curve.y:
            axes.plot(curve.x, curve.y, label=curve.label, color=colour)
        if curve.low:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0,
                              label=None if curve.y else curve.label)
    axes.set(xlabel=x_label, ylabel=y_label, ylim=(0, _top(curves)))
    axes.set_xlim(left=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes.get_figure(root=True)  # type: ignore[return-value]


def _top(curves: Sequence[Curve]) -> float:
    most = max((value for curve in curves for value in (*curve.y, *curve.high)), default=1.0)
    return 1.02 if most > 0.5 else 1.1 * most or 1.0


def _ticks(most: float) -> List[float]:
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, most) if most < 6 * step)
    return [step * number for number in range(int(most / step) + 1)]


def _svg(curves: Sequence[Curve], x_label: str, y_label: str) -> str:
    (width, height), top = SIZE, _top(curves)
    right = max((value for curve in curves for value in curve.x), default=0.0) or 1.0

    def at(x: float, y: float) -> Tuple[float, float]:
        return (round(LEFT + x / right * (width - LEFT - 12), 2),
                round((1 - y / top) * (height - BELOW - 8) + 8, 2))

    def line(xs: Iterable[float], ys: Iterable[float], style: str) -> str:
        points = " ".join(f"{x},{y}" for x, y in (at(*pair) for pair in zip(xs, ys)))
        return f'<polyline points="{points}" {style}/>'

    def text(x: float, y: float, words: str, more: str = 'text-anchor="middle"') -> str:
        return f'<text x="{x}" y="{y}" {more}>{escape(words)}</text>'

    parts = [line((0, 0, right), (top, 0, 0), 'fill="none" stroke="#444"')]
    parts += [text(at(x, 0)[0], height - BELOW + 14, f"{x:.4g}") for x in _ticks(right)]
    parts += [text(LEFT - 16, at(0, y)[1] + 4, f"{y:.4g}") for y in _ticks(top)]
    parts += [text(width / 2, height - 8, x_label), text(
        0, 0, y_label, f'text-anchor="middle" transform="translate(12 {height / 2}) rotate(-90)"')]
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        if curve.low:
            area = ((*curve.x, *reversed(curve.x)), (*curve.low, *reversed(curve.high)))
            parts.append(line(*area, f'fill="{colour}" fill-opacity="0.2"'))
        if curve.y:
            parts.append(line(curve.x, curve.y, f'fill="none" stroke="{colour}"'))
        parts.append(text(width - 12, 18 + 14 * number, curve.label,
                          f'text-anchor="end" fill="{colour}"'))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" font-family="sans-serif" font-size="11">' + "\n".join(parts)
            + "</svg>")
