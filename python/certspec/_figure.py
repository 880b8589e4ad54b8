"""Figures: in matplotlib where it is there, else as SVG."""
from __future__ import annotations

import base64
import math
import os
import struct
import zlib
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from ._program import run
from ._table import FIGURES, Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = Sequence[float]
Pixels = NDArray[np.uint8]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("-", "--", ":")
SCALE = ((13, 8, 65), (84, 20, 109), (159, 42, 99), (212, 72, 66), (245, 125, 21), (250, 193, 39),
         (252, 255, 164))  #: of maps, dark to bright, also told apart without red and green
RADIUS = "radius r (ℓ₂; full range of a pixel value = 1)"
OURS = "certspec"  #: marks the curves that are ours in axes of a caller


class Curve(NamedTuple):
    """Values over places; an area or bars, where `low` is there, reach from there to `high`.

    holds says what is known between two places, and nothing else is drawn. "up to": a proof holds
    from the place before up to its own, and nothing beyond the last. "from": what an attack has
    broken stays broken from its place on. "points": nothing. "joined": the values are of one line.
    """
    label: str
    x: Floats
    y: Floats = ()
    low: Floats = ()
    high: Floats = ()
    holds: str = "joined"


class Raster(NamedTuple):
    """Values on a grid, the first row below, over a range of x and y."""
    values: NDArray[np.float64]
    extent: tuple[float, float, float, float]
    label: str
    most: float  #: value at the bright end; the dark one is 0


class Panel(NamedTuple):
    """Curves or a map over common axes."""
    curves: Sequence[Curve]
    x: str
    y: str
    title: str
    about: str = ""
    names: Sequence[str] = ()  #: of the places 0, 1, … on the x axis
    end: float = 0.0  #: the x axis reaches there at least
    map: Optional[Raster] = None
    ledgers: Sequence[str] = ()  #: of which the program draws the same


class Svg(str):
    """A figure as SVG, which a notebook shows."""
    _repr_svg_ = str.__str__
    ledgers: Sequence[str] = ()
    heading: str = ""
    names: Sequence[str] = ()

    def save(self, path: Path) -> str:
        """Write it as .svg, and return the path.

        Curves of ledgers it also writes as .png and .pdf, which the program draws.
        """
        if _ending(path) == ".svg":
            with open(path, "w", encoding="utf-8") as file:
                file.write(self)
        elif self.ledgers:
            names = ",".join(name.replace(", ", " ").replace(",", " ") for name in self.names)
            run(["ledger", "plot", *self.ledgers, f"--title={self.heading}", f"--names={names}",
                 f"--out={os.fspath(path)}"], show=False)
        else:
            raise ImportError(f"{os.fspath(path)}: .png and .pdf of this figure need matplotlib: "
                              "pip install 'certspec[plot]', or save it as .svg")
        return os.fspath(path)

    savefig = save


Picture = Union["Figure", Svg]


def corners(curve: Curve, values: Floats) -> tuple[list[float], list[float]]:
    """The points through which a curve of some values goes: all that is drawn of claims."""
    if not values:
        return [], []
    x, y = (list(side) for side in zip(*sorted(zip(curve.x, values), key=lambda at: at[0])))
    if curve.holds == "up to":
        return ([0.0, *(at for at in x for _ in "12")], [*(at for at in y for _ in "12"), 0.0])
    if curve.holds == "from":
        rest = [at for at in x[1:] for _ in "12"]
        return [x[0], *rest], [*(at for at in y[:-1] for _ in "12"), y[-1]]
    return x, y


def draw(panels: Sequence[Panel], ax: Axes | None = None, label: str | None = None,
         columns: float | None = None, out: Path | None = None) -> Picture:
    """Draw panels side by side as one figure, or one panel in axes of the caller.

    columns is the width in columns of a paper, with its letters. out saves it by its ending.
    """
    if columns is not None and not 0 < columns <= 2:
        raise ValueError(f"columns is {columns!r}; expected the width in columns of a paper: 1, 2")
    if out is not None:
        _ending(out)
    try:
        from matplotlib import pyplot
    except ImportError:
        if ax is not None:
            raise
        figure = Svg(_svg(panels, label))
        figure.ledgers, figure.heading = panels[0].ledgers, panels[0].title
        figure.names = [_named(panels[0], curve, label) for curve in panels[0].curves]
        if out is not None:
            figure.save(out)
        return figure
    if ax is not None:
        _on(ax, panels[0], label)
        return ax.get_figure(root=True)  # type: ignore[return-value]
    wide = 6.4 if columns is None else 3.5 * columns - 0.25
    size = (wide * (len(panels) if columns is None else 1), 0.69 * wide / (
        1 if columns is None else len(panels)))
    with pyplot.rc_context({"font.size": 10 if columns is None else 8}):
        page = pyplot.figure(figsize=size, layout="constrained")
        for axes, panel in zip(page.subplots(1, len(panels), squeeze=False)[0], panels):
            _on(axes, panel, label, True)
        pyplot.close(page)  # a cell shows what it returns: once
        if out is not None:
            page.savefig(out)
    return page


def _ending(path: Path) -> str:
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending not in FIGURES:
        raise ValueError(f"{os.fspath(path)}: no form for a figure; expected .svg, .png or .pdf")
    return ending


def _on(axes: Any, panel: Panel, label: str | None, own: bool = False) -> None:
    """Draw a panel in axes, which may hold others: each curve in a colour of its own."""
    about = wrap(panel.about, 80) if own else []
    axes.set_title("\n".join([panel.title, *about]) if own or not axes.get_title()
                   else axes.get_title(), fontsize="medium")
    axes.set(xlabel=panel.x, ylabel=panel.y)
    if panel.map is not None:
        raster = panel.map
        image = axes.imshow(raster.values, cmap="inferno", vmin=0, vmax=raster.most,
                            origin="lower", extent=raster.extent, interpolation="nearest")
        axes.figure.colorbar(image, ax=axes, label=raster.label)
        return
    taken = sum(artist.get_gid() == OURS for artist in axes.get_children())
    top = 0.0 if own else axes.get_ylim()[1] * bool(taken)
    for number, curve in enumerate(panel.curves, taken):
        _curve(axes, curve, COLOURS[number % len(COLOURS)], _named(panel, curve, label),
               DASHES[number // len(COLOURS) % len(DASHES)])
    axes.update_datalim([(panel.end, 0)])
    if panel.names:
        axes.set_xticks(range(len(panel.names)), panel.names, rotation=60, ha="right")
    elif axes.get_autoscalex_on():
        axes.autoscale_view(scaley=False)
        axes.set_xlim(0, None, auto=True)
    low = _low(panel.curves)
    axes.set_ylim(low, max(top, _top(panel.curves)))
    if low < 0:
        axes.axhline(0, color="grey", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    if any(_named(panel, curve, label) for curve in panel.curves):
        many = len(panel.curves) > len(COLOURS)
        beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if many else {}
        axes.legend(frameon=False, **beside)


def _curve(axes: Any, curve: Curve, colour: str, label: str, dashes: str) -> None:
    first = label
    if curve.y:
        x, y = corners(curve, curve.y)
        points = {"linestyle": "none", "marker": "o", "markersize": 4}
        axes.plot(x, y, color=colour, label=label, gid=OURS,
                  **(points if curve.holds == "points" else {"linestyle": dashes}))
        first = ""
    if curve.low and curve.holds == "points":
        axes.vlines(curve.x, curve.low, curve.high, color=colour, linewidth=1)
    elif curve.low:
        (x, low), (_, high) = corners(curve, curve.low), corners(curve, curve.high)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, label=first or None,
                          gid=None if curve.y else OURS)


def _named(panel: Panel, curve: Curve, label: str | None) -> str:
    """What stands for a curve in the legend."""
    if label is None or len(panel.curves) == 1:
        return curve.label if label is None else label
    return f"{label}: {curve.label}"


def _top(curves: Sequence[Curve]) -> float:
    most = max((value for curve in curves for value in (*curve.y, *curve.high)), default=1.0)
    if most <= 0:
        return 0.0 if _low(curves) < 0 else 1.0
    return 1.02 if 0.5 < most <= 1 else 1.1 * most


def _low(curves: Sequence[Curve]) -> float:
    return 1.1 * min((v for curve in curves for v in (0.0, *curve.y, *curve.low)), default=0.0)


def _ticks(most: float) -> list[float]:
    step = 10 ** math.floor(math.log10(most)) if most > 0 else 1.0
    step *= next(part for part in (0.1, 0.2, 0.5, 1.0) if most < 6 * part * step) \
        if most < 6 * step else 2.0
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def _svg(panels: Sequence[Panel], label: str | None) -> str:
    """Panels side by side, each 460 wide."""
    parts, above = [], max(1 + len(wrap(panel.about, 80)) for panel in panels)
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({460 * number})">{_panel(panel, label)}</g>')
    below = max((5 * len(name) for panel in panels for name in panel.names), default=0)
    box = f"0 {-14 - 14 * above} {460 * len(panels)} {314 + below + 14 * above}"
    words = "; ".join(panel.title for panel in panels)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{460 * len(panels)}" '
            f'font-family="sans-serif" font-size="11" role="img"><title>{escape(words)}</title>'
            '<style>text{fill:currentColor}</style>' + "\n".join(parts) + "</svg>")


def _text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def _panel(panel: Panel, label: str | None) -> str:
    lines = [panel.title, *wrap(panel.about, 80)]
    parts = [_text(230, 14 * (row - len(lines)), words) for row, words in enumerate(lines)]
    parts += [_text(-150, 12, panel.y, more='transform="rotate(-90)"'), _text(230, 292, panel.x)]
    if panel.map is not None:
        return "\n".join([*parts, *_raster(panel.map)])
    places = [panel.end, *(place for curve in panel.curves for place in curve.x)]
    low, top, right = _low(panel.curves), _top(panel.curves), max(places) or 1.0
    left = -0.5 if panel.names else 0.0
    right = len(panel.names) - 0.5 if panel.names else right

    def at(x: float, y: float) -> tuple[float, float]:
        return (round(52 + 396 * (x - left) / (right - left), 2),
                round(256 - 248 * (y - low) / (top - low), 2))

    parts.append(_line(at, (left, left, left, right), (low, top, 0, 0),
                       'fill="none" stroke="currentColor"'))
    below = [-y for y in _ticks(-low)[1:]] if low < 0 else []
    parts += [_text(36, at(0, y)[1] + 4, f"{y:.4g}") for y in _ticks(top) + below]
    for x, name in enumerate(panel.names):
        turned = f'transform="rotate(-60 {at(x, 0)[0]} 266)"'
        parts.append(_text(at(x, 0)[0], 270, name, "end", turned))
    parts += [_text(at(x, 0)[0], 270, f"{x:.4g}") for x in _ticks(right) if not panel.names]
    for number, curve in enumerate(panel.curves):
        colour = COLOURS[number % len(COLOURS)]
        parts += _drawn(at, curve, colour)
        parts.append(_text(448, 18 + 14 * number, _named(panel, curve, label), "end",
                           f'style="fill:{colour}"'))
    return "\n".join(parts)


Place = Callable[[float, float], tuple[float, float]]


def _line(at: Place, xs: Iterable[float], ys: Iterable[float], style: str) -> str:
    points = " ".join(f"{x},{y}" for x, y in map(at, xs, ys))
    return f'<polyline points="{points}" {style}/>'


def _drawn(at: Place, curve: Curve, colour: str) -> list[str]:
    """A curve with its area, or points with their bars."""
    parts = []
    if curve.low and curve.holds == "points":
        parts += [_line(at, (x, x), ends, f'stroke="{colour}"')
                  for x, *ends in zip(curve.x, curve.low, curve.high)]
    elif curve.low:
        (x, low), (_, high) = corners(curve, curve.low), corners(curve, curve.high)
        parts.append(_line(at, [*x, *reversed(x)], [*low, *reversed(high)],
                           f'fill="{colour}" fill-opacity="0.2"'))
    if curve.y and curve.holds == "points":
        parts += [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>'
                  for x, y in map(at, curve.x, curve.y)]
    elif curve.y:
        parts.append(_line(at, *corners(curve, curve.y), f'fill="none" stroke="{colour}"'))
    return parts


def _raster(raster: Raster) -> list[str]:
    """A map as a picture, with the values at the ends of its scale and of its axes."""
    values = shades(raster.values / (raster.most or 1.0))[::-1]
    left, right, low, high = raster.extent
    bar = shades(np.linspace(1, 0, 64)[:, None])
    parts = [f'<image x="{x}" y="8" width="{width}" height="248" preserveAspectRatio="none" '
             f'style="image-rendering:pixelated" href="{address(pixels)}"/>'
             for x, width, pixels in ((106, 248, values), (372, 10, bar))]
    parts += [_text(386, y, f"{value:.3g}", "start") for y, value in ((256, 0), (16, raster.most))]
    parts.append(_text(400, 140, raster.label, more='transform="rotate(-90 400 140)"'))
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_text(106 + 248 * share, 270, f"{left + share * (right - left):.3g}"))
        parts.append(_text(100, 260 - 248 * share, f"{low + share * (high - low):.3g}", "end"))
    return parts


def shades(shares: NDArray[np.float64]) -> Pixels:
    """The colours of shares of a scale from 0, dark, to 1, bright."""
    place, ends = np.clip(shares, 0, 1), np.linspace(0, 1, len(SCALE))
    colours = np.stack([np.interp(place, ends, [c[k] for c in SCALE]) for k in range(3)], -1)
    rounded: Pixels = np.rint(colours).astype(np.uint8)
    return rounded


def png(pixels: Pixels) -> bytes:
    """The file of a picture (height, width, 3)."""
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(
            ">I", zlib.crc32(kind + content))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))


def address(pixels: Pixels) -> str:
    """A picture as an address of a page."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()


class Sheet:
    """Pictures in rows, a name before each row. `save` writes a .png."""

    def __init__(self, rows: Sequence[tuple[str, Sequence[Pixels]]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {len(images)} pictures" for name, images in self.rows)

    def _repr_html_(self) -> str:
        lines = []
        for name, images in self.rows:
            cells = "".join(
                f'<td><img alt="{escape(name)} {number}" style="image-rendering:pixelated;'
                f'height:96px" src="{address(image)}"></td>' for number, image in enumerate(images))
            lines.append(f'<tr><th style="text-align:left">{escape(name)}</th>{cells}</tr>')
        return "<table>" + "".join(lines) + "</table>"

    def save(self, path: Path) -> str:
        """Write all pictures as one .png, larger where they are small, and return its path."""
        if os.path.splitext(os.fspath(path))[1].lower() != ".png":
            raise ValueError(f"{os.fspath(path)}: no form for pictures; expected .png")
        height = max(image.shape[0] for _, images in self.rows for image in images)
        width = max(image.shape[1] for _, images in self.rows for image in images)
        most = max(len(images) for _, images in self.rows)
        page = np.full((len(self.rows) * (height + 2), most * (width + 2), 3), 255, np.uint8)
        for row, (_, images) in enumerate(self.rows):
            for column, image in enumerate(images):
                y, x = row * (height + 2), column * (width + 2)
                page[y:y + image.shape[0], x:x + image.shape[1]] = image
        factor = max(1, 128 // height)
        with open(path, "wb") as file:
            file.write(png(page.repeat(factor, 0).repeat(factor, 1)))
        return os.fspath(path)
