"""What verbs return: the program's figures, as tables, and as figures in a notebook."""
from __future__ import annotations

from html import escape
from itertools import chain, repeat
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, Sequence, TypeVar, Union

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = TypeVar("Kind")
Floats = Sequence[float]
COLOURS = ("#0072b2", "#d55e00", "#009e73")  #: also told apart without red and green
SHOWN, LEFT = 30, ' style="text-align:left"'  #: rows of a table, and its columns of words
WORDS = {"acr": "ACR", "ece": "ECE", "brier": "Brier score", "gaussian": "Gaussian", "jpeg": "JPEG",
         "idx": "image", "predict": "class", "nA": "top-class count", "plow": "lower bound",
         "nused": "noise samples"}  #: for names of the program


class Table(list[Kind]):
    """A list of results, or of rows by column, that a notebook shows as a table."""
    about = ""  #: data, network and settings, below the title of a figure

    def __repr__(self) -> str:
        lines = self._cells()
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join(text + [f"{len(self) - SHOWN} more rows"] * (len(self) > SHOWN))

    def _repr_html_(self) -> str:
        cells = self._cells()
        left = [LEFT * any(c.strip("0123456789,.−e") for c in words[1:]) for words in zip(*cells)]
        lines = ["".join(f"<{tag}{style}>{escape(cell)}</{tag}>" for style, cell in zip(left, line))
                 for tag, line in zip(chain(["th"], repeat("td")), cells)]
        more = f"<p>{len(self) - SHOWN} more rows</p>" if len(self) > SHOWN else ""
        return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "</table>" + more

    def _cells(self) -> list[tuple[str, ...]]:
        """The names of the columns, then the first rows, as people write them."""
        def words(name: str) -> str:
            return " ".join(WORDS.get(word, word) for word in name.split("_"))
        some: Any = self[:SHOWN]
        rows = [row if isinstance(row, dict) else row._asdict() for row in some]
        table: list[list[str]] = []
        for name, column in zip(*rows[:1], zip(*(row.values() for row in rows))):
            short = all(cell == round(cell, 2) for cell in column if isinstance(cell, float))
            cells = [_text(cell, short) for cell in column]
            table.append([words(name), *(map(words, cells) if name == "name" else cells)])
        return list(zip(*table))


def _text(cell: object, short: bool) -> str:
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return "" if cell is None else str(cell)
    form = (",.0f" if isinstance(cell, int) or abs(cell) >= (1000 if short else 100) else
            "g" if short else ".3f" if abs(cell) > 5e-4 or not cell else ".0e")
    return format(cell, form).replace("-", "−")


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


def stairs(x: Floats, *ys: Floats) -> list[list[float]]:
    """The points of steps, each of which holds from the x before up to its own."""
    steps = ([*(at for at in y for _ in "12"), 0.0] if y else [] for y in ys)
    return [[0.0, *(at for at in x for _ in "12")], *steps]


def draw(curves: Sequence[Curve], y_label: str, title: str, about: str, ax: Axes | None) -> Picture:
    """Curves over the radius, in axes of matplotlib or as a figure of its own, which says more."""
    x_label, lines = "radius r (ℓ₂; full range of a pixel value = 1)", [title, *wrap(about, 80)]
    try:
        from matplotlib import pyplot
    except ImportError:
        return Svg(_svg(curves, x_label, y_label, lines))
    axes = ax or pyplot.figure(figsize=(6.4, 4.4), layout="constrained").subplots()
    if ax is None:
        pyplot.close()  # a cell shows what it returns: once
    axes.set_title("\n".join(lines[:None if ax is None else 1]), fontsize="medium")
    for curve, colour in zip(curves, COLOURS):
        if curve.y:
            axes.plot(curve.x, curve.y, label=curve.label, color=colour)
        if curve.low:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0,
                              label=None if curve.y else curve.label)
    axes.set(xlabel=x_label, ylabel=y_label, xlim=(0, None), ylim=(0, _top(curves)))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes.get_figure(root=True)  # type: ignore[return-value]


def _top(curves: Sequence[Curve]) -> float:
    most = max((value for curve in curves for value in (*curve.y, *curve.high)), default=1.0)
    return 1.02 if most > 0.5 else 1.1 * most or 1.0


def _ticks(most: float) -> list[float]:
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, most) if most < 6 * step)
    return [step * number for number in range(int(most / step) + 1)]


def _svg(curves: Sequence[Curve], x_label: str, y_label: str, title: Sequence[str]) -> str:
    top = _top(curves)
    right = max((value for curve in curves for value in curve.x), default=0.0) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return round(52 + 396 * x / right, 2), round(256 - 248 * y / top, 2)

    def line(xs: Iterable[float], ys: Iterable[float], style: str) -> str:
        points = " ".join(f"{x},{y}" for x, y in map(at, xs, ys))
        return f'<polyline points="{points}" {style}/>'

    def text(x: float, y: float, words: str, anchor: str = "middle", more: str = "") -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {more}>{escape(words)}</text>'

    parts = [line((0, 0, right), (top, 0, 0), 'fill="none" stroke="#444"'),
             text(230, 292, x_label), text(-150, 12, y_label, more='transform="rotate(-90)"')]
    parts += [text(230, 14 * (row - len(title)), words) for row, words in enumerate(title)]
    parts += [text(at(x, 0)[0], 270, f"{x:.4g}") for x in _ticks(right)]
    parts += [text(36, at(0, y)[1] + 4, f"{y:.4g}") for y in _ticks(top)]
    for curve, colour, height in zip(curves, COLOURS, (18, 32, 46)):
        if curve.low:
            area = ((*curve.x, *reversed(curve.x)), (*curve.low, *reversed(curve.high)))
            parts.append(line(*area, f'fill="{colour}" fill-opacity="0.2"'))
        if curve.y:
            parts.append(line(curve.x, curve.y, f'fill="none" stroke="{colour}"'))
        parts.append(text(448, height, curve.label, "end", f'fill="{colour}"'))
    box = f"0 {-14 - 14 * len(title)} 460 {314 + 14 * len(title)}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="460" '
            'font-family="sans-serif" font-size="11">' + "\n".join(parts) + "</svg>")


class Interval(NamedTuple):
    """A confidence interval, its ends included."""
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}".replace("-", "−")


class Summary(NamedTuple):
    """How far a run is, and its figures."""
    images: int
    decided: int
    abstained: int
    passes: int  #: noise samples in all
    misses: int  #: noise samples whose output is not finite
    radius_cap: float  #: the largest radius that so many noise samples can prove
    acr: float | None  #: average certified radius; None without labels
    closed: bool  #: whether all is finished, and sealed by the digest
    digest: str | None


class MeanRadius(NamedTuple):
    """The average certified radius under a corruption or a group, with its interval."""
    name: str
    acr: float
    interval: Interval


class Replayed(NamedTuple):
    """What a replay found."""
    images: int
    blocks: int
    equal_blocks: int
    equal_identity: bool  #: of engine, version, threads and instruction set, too

    @property
    def equal(self) -> bool:
        """Whether all counts are equal."""
        return self.equal_blocks == self.blocks


class Check(NamedTuple):
    """One thing that a preflight looked at."""
    name: str
    verdict: str  #: "ok", "warning" (likely not what is wanted) or "failure" (a wasted run)
    found: str
    advice: str | None = None


class Plan(NamedTuple):
    """A run that one could ask for, with what is expected of it."""
    rule: str
    max_samples: int
    radius_cap: float
    mean_radius: float
    seconds: float


class Preflight(NamedTuple):
    """What to know before a long run. `str()` is a table."""
    model: str
    data: str
    images: int
    sigma: float
    clean_accuracy: float | None
    noisy_accuracy: float | None
    agreement: float  #: share of noise samples given the class of their image without noise
    rate: float  #: noise samples per second
    preprocessing: str
    checks: Table[Check]
    plans: Table[Plan]

    @property
    def ok(self) -> bool:
        """Whether no check has failed."""
        return all(check.verdict != "failure" for check in self.checks)

    def _title(self) -> str:
        return f"{self.model} on {self.data}, sigma = {self.sigma:g}: {self.preprocessing}"

    def _repr_html_(self) -> str:
        tables = self.checks._repr_html_() + self.plans._repr_html_()
        return f"<p>{escape(self._title())}</p>{tables}"

    def __str__(self) -> str:
        return f"{self._title()}\n{self.checks}\n{self.plans}"


class Prediction(NamedTuple):
    """The class of the smoothed classifier at an image, −1 where it abstains."""
    image: int
    label: int  #: −1: none
    predict: int
    p_value: float
    counts: list[int]  #: noise samples by class
    misses: int  #: noise samples whose output is not finite


class Accuracy(NamedTuple):
    """Plain accuracy on a set, clean or corrupted."""
    set: str
    right: int
    images: int
    share: float


class Difference(NamedTuple):
    """What the second of two ledgers has more than the first, with its bootstrap interval."""
    a: float
    b: float
    difference: float
    interval: Interval
    radius: float | None = None  #: of a certified accuracy; None: average certified radius


class Comparison(NamedTuple):
    """Two ledgers on the same images."""
    images: int
    acr: Difference
    certified_accuracy: Table[Difference]


class Calibration(NamedTuple):
    """Calibration of the smoothed confidences of the images that are certified at a radius."""
    radius: float
    n: int
    accuracy: float
    ece: float
    brier: float
    certified_ece: float  #: the largest calibration error inside the certified intervals
    certified_brier: float
    mean_width: float  #: of the certified intervals


class Calibrations(Table[Calibration]):
    """Calibration at some radii."""

    def plot(self, ax: Axes | None = None) -> Picture:
        """Draw the calibration error over the radius: as it is, and at worst. See Ledger.plot."""
        some = [one for one in self if one.n]  # else there is nothing to calibrate
        x, found = [one.radius for one in some], [one.ece for one in some]
        worst = [one.certified_ece for one in some]
        return draw([Curve("at worst inside certified intervals", x, worst, found, worst),
                     Curve("measured", x, found)], "expected calibration error",
                    "Calibration error: measured, and what an adversary can make of it",
                    self.about, ax)


class Metrics(NamedTuple):
    """Calibration of probabilities as they are."""
    n: int
    accuracy: float
    ece: float
    adaece: float  #: with bins of equal mass
    mce: float
    classwise_ece: float
    smooth_ece: float
    debiased_ece: float
    brier: float
    log_loss: float


class UnderAttack(NamedTuple):
    """The accuracy that an attack leaves at a radius, beside the certified one."""
    radius: float
    certified: float  #: a lower bound on the robust accuracy
    empirical: float  #: an upper bound, as far as the attack can tell
    broken: int
    undecided: int
    images: int


class Attacked(Table[UnderAttack]):
    """What an attack leaves at some radii, beside what is certified there."""

    def plot(self, ax: Axes | None = None) -> Picture:
        """Draw both accuracies over the radius, and the gap between. See Ledger.plot."""
        x = [one.radius for one in self]
        proof, left = [one.certified for one in self], [one.empirical for one in self]
        return draw([Curve("left by the attack", x, left), Curve("certified", x, proof),
                     Curve("neither proof nor attack", x, (), proof, left)], "accuracy",
                    "Accuracy under attack: proven, and left by an attack", self.about, ax)


def made(kind: type[Kind], found: Mapping[str, object]) -> Kind:
    """A result of the fields that it has, as the program names them."""
    kept: dict[str, object] = {k: found.get(k) for k in kind._fields}  # type: ignore[attr-defined]
    ends = kept.get("interval")
    return kind(**{**kept, "interval": Interval(**ends)} if isinstance(ends, dict) else kept)
