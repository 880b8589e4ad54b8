"""What verbs return: the program's figures, under its own names."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Dict, List, Mapping, NamedTuple, Optional, Type

from ._show import Curve, Kind, Picture, Table, draw, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Interval(NamedTuple):
    """A confidence interval, its ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.4g} to {self.high:.4g}"


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
    advice: Optional[str] = None


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
    clean_accuracy: Optional[float]
    noisy_accuracy: Optional[float]
    agreement: float  #: share of noise samples given the class of their image without noise
    rate: float  #: noise samples per second
    preprocessing: str
    checks: List[Check]
    plans: List[Plan]

    @property
    def ok(self) -> bool:
        """Whether no check has failed."""
        return all(check.verdict != "failure" for check in self.checks)

    def _title(self) -> str:
        return f"{self.model} on {self.data}, sigma = {self.sigma:g}: {self.preprocessing}"

    def _repr_html_(self) -> str:
        tables = (html_table([one._asdict() for one in part]) for part in (self.checks, self.plans))
        return f"<p>{escape(self._title())}</p>" + "".join(tables)

    def __str__(self) -> str:
        checks = [f"{at.verdict:8} {at.name}: {at.found} {at.advice or ''}" for at in self.checks]
        plans = [f"plan     {at.rule}, n = {at.max_samples}: mean radius {at.mean_radius:.3f}, "
                 f"{at.seconds:.0f} s" for at in self.plans]
        return "\n".join([self._title(), *checks, *plans])


class Prediction(NamedTuple):
    """The class of the smoothed classifier at an image, −1 where it abstains."""

    image: int
    label: int  #: −1: none
    predict: int
    p_value: float
    counts: List[int]  #: noise samples by class
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
    radius: Optional[float] = None  #: of a certified accuracy; None: average certified radius


class Comparison(NamedTuple):
    """Two ledgers on the same images."""

    images: int
    acr: Difference
    certified_accuracy: List[Difference]


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

    def plot(self, ax: Optional[Axes] = None) -> Picture:
        """Draw the calibration error over the radius: as it is, and at worst. See Ledger.plot."""
        some = [one for one in self if one.n]  # else there is nothing to calibrate
        x, found = [one.radius for one in some], [one.ece for one in some]
        worst = [one.certified_ece for one in some]
        return draw([Curve("at worst inside certified intervals", x, worst, found, worst),
                     Curve("as it is", x, found)], "expected calibration error", ax)


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

    def plot(self, ax: Optional[Axes] = None) -> Picture:
        """Draw both accuracies over the radius, and the gap between. See Ledger.plot."""
        x = [one.radius for one in self]
        proof, left = [one.certified for one in self], [one.empirical for one in self]
        return draw([Curve("left by the attack", x, left), Curve("certified", x, proof),
                     Curve("neither proof nor attack", x, (), proof, left)], "accuracy", ax)


def made(kind: Type[Kind], found: Mapping[str, object]) -> Kind:
    """A result of the fields that it has, as the program names them."""
    names = kind._fields  # type: ignore[attr-defined]
    values: Dict[str, object] = {name: found.get(name) for name in names}
    ends = values.get("interval")
    return kind(**{**values, "interval": Interval(**ends)} if isinstance(ends, dict) else values)
