"""What verbs return: the program's figures, as tables, and as figures in a notebook."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from ._figure import RADIUS, Curve, Panel, Picture, draw
from ._table import Cells, Interval, Kind, Path, Result, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Drawn:
    """What draws itself."""

    def _panel(self) -> Panel:
        raise NotImplementedError

    def _panels(self) -> list[Panel]:
        return [self._panel()]

    def plot(self, ax: Axes | None = None, *, label: str | None = None, title: str | None = None,
             columns: float | None = None, out: Path | None = None) -> Picture:
        """Draw it in axes of matplotlib, or as a figure of its own.

        label stands in the legend. columns is the width of the figure in columns of a paper, 1 or
        2, with letters of 8 points. out saves it as .svg, .png or .pdf. Without matplotlib the
        figure is an Svg, which saves itself.
        """
        first, *others = self._panels()
        titled = first if title is None else first._replace(title=title)
        return draw([titled, *others], ax, label, columns, out)


class _Summary(NamedTuple):
    images: int
    decided: int
    abstained: int
    passes: int  #: noise samples in all
    misses: int  #: noise samples whose output is not finite
    radius_cap: float  #: the largest radius that so many noise samples can prove
    acr: float | None  #: average certified radius; None without labels
    closed: bool  #: whether all is finished, and sealed by the digest
    digest: str | None


class Summary(_Summary, Result):
    """How far a run is, and its figures."""


class MeanRadius(NamedTuple):
    """The average certified radius under a corruption or a group, with its interval."""
    name: str
    acr: float
    interval: Interval


class _Replayed(NamedTuple):
    images: int
    blocks: int
    equal_blocks: int
    equal_identity: bool  #: of engine, version, threads and instruction set, too


class Replayed(_Replayed, Result):
    """What a replay found."""

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


class _Preflight(NamedTuple):
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


class Preflight(_Preflight, Result):
    """What to know before a long run. `str()` is a table."""

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
    p_holm: float | None = None  #: of no difference, corrected by Holm for all of the comparison
    verdict: str = ""  #: "higher", "lower" or "open"; open where a setting differs


class _Comparison(NamedTuple):
    images: int
    acr: Difference
    certified_accuracy: Table[Difference]
    heading: str = ""  #: what differs between the two, and what may be claimed
    cap: float | None = None  #: where radii are cut: the smaller cap of the two
    beyond: tuple[float, ...] = ()  #: radii above the cap, which are not compared


class Comparison(_Comparison, Result):
    """Two ledgers on the same images: the second minus the first."""

    def table(self) -> Table[Cells]:
        """A row for the average certified radius, and one for each radius."""
        return Table({"metric": "acr" if one.radius is None else f"r = {one.radius:g}", "a": one.a,
                      "b": one.b, "difference": one.difference, "interval": one.interval,
                      "p_holm": one.p_holm, "verdict": one.verdict}
                     for one in (self.acr, *self.certified_accuracy))

    _records = table

    def _notes(self) -> Sequence[str]:
        many = 1 + len(self.certified_accuracy)
        notes = [] if many < 2 else [
            f"p_holm is of no difference, corrected by Holm for these {many}. At most 0.05 is a "
            "verdict, where no setting differs. An interval stands for one difference alone: among "
            "many some miss 0 by chance."]
        notes += [f"Not compared, beyond the smaller cap of {self.cap:.4f}: r = "
                  + ", ".join(f"{radius:g}" for radius in self.beyond)] if self.beyond else []
        return notes

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.heading)}</p>" * bool(self.heading) + super()._repr_html_()

    def __str__(self) -> str:
        return self.heading + "\n" * bool(self.heading) + self.to_text()


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


class Calibrations(Table[Calibration], Drawn):
    """Calibration at some radii. A figure has points: other images are certified between two."""

    def _panel(self) -> Panel:
        some = [one for one in self if one.n]  # else there is nothing to calibrate
        x, found = [one.radius for one in some], [one.ece for one in some]
        counts = ", ".join(f"{one.n:,}" for one in some)
        return Panel([Curve("at worst inside certified intervals", x,
                            [one.certified_ece for one in some], holds="points"),
                      Curve("measured", x, found, holds="points")], RADIUS,
                     "expected calibration error",
                     "Calibration error: measured, and what an adversary can make of it",
                     f"{self.about}; images certified: {counts}")


class _Metrics(NamedTuple):
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


class Metrics(_Metrics, Result):
    """Calibration of probabilities as they are."""


class UnderAttack(NamedTuple):
    """The accuracy that an attack leaves at a radius, beside the certified one."""
    radius: float
    certified: float  #: a lower bound on the robust accuracy
    empirical: float  #: an upper bound, as far as the attack can tell
    broken: int
    undecided: int
    images: int


class Attacked(Table[UnderAttack], Drawn):
    """What an attack leaves at some radii, beside what is certified there."""

    def _panel(self) -> Panel:
        rows = sorted(self, key=lambda one: one.radius)
        x, proof = [one.radius for one in rows], [one.certified for one in rows]
        left = [one.empirical for one in rows]
        # Between two radii: the proof of the larger, and what is left at the smaller.
        steps = [at for pair in zip(x, x[1:]) for at in pair]
        low, high = ([at for at in values for _ in "12"] for values in (proof[1:], left[:-1]))
        return Panel([Curve("left by the attack", x, left, holds="from"),
                      Curve("certified", x, proof, holds="up to"),
                      Curve("neither proof nor attack", steps, (), low, high)], RADIUS, "accuracy",
                     "Accuracy under attack: proven, and left by an attack", self.about)


def made(kind: type[Kind], found: Mapping[str, object]) -> Kind:
    """A result of the fields that it has, as the program names them."""
    kept: dict[str, object] = {k: found.get(k) for k in kind._fields}  # type: ignore[attr-defined]
    ends = kept.get("interval")
    return kind(**{**kept, "interval": Interval(**ends)} if isinstance(ends, dict) else kept)
