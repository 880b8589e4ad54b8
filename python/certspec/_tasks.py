"""Prediction sets, out-of-distribution detection, training, proofs, and what a class looks at."""
from __future__ import annotations

import csv
import json
import os
import pathlib
import tempfile
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from ._figure import Curve, Panel, Sheet
from ._job import data_of, job
from ._model import is_module
from ._options import (
    ModelOptions, PlanOptions, distances, flags, of_file, shared, share, spread, whole)
from ._program import run
from ._read import Source, columns_of, path_of
from ._results import Drawn, made
from ._spectra import band_of, named
from ._table import Cells, Interval, Path, Result, Table

if TYPE_CHECKING:
    import ipywidgets
    from typing_extensions import Unpack


class PredictionSets(NamedTuple):
    """Prediction sets that hold the label within a radius."""
    radius: float
    coverage: float  #: share of the tested images whose set holds the label
    range: Interval  #: of the coverage, where images are drawn at random
    mean_size: float  #: classes in a set
    needed: int  #: calibration images, below which every set has all classes
    images: int


@shared(ModelOptions)
def sets(model: object, images: object, labels: object = None, *, sigma: float,
         miscoverage: float = 0.1, radii: float | Sequence[float] = (0, 0.25, 0.5),
         calibrate: int | None = None, seed: int | None = None,
         **given: Unpack[ModelOptions]) -> Table[PredictionSets]:
    """Make prediction sets that hold the label with probability 1 - miscoverage.

    Within each radius they do so for any change of the tested image. calibrate images, half of them
    where it is None, give the threshold; the others are tested. The probability is over images and
    noise, not for one image alone.
    """
    words = flags({"sigma": spread(sigma), "miscoverage": share(miscoverage, "miscoverage"),
                   "radii": distances(radii, "radii"), "seed": seed})
    words += [] if calibrate is None else [f"--calibrate={whole(calibrate, 'calibrate', 1)}"]
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["calib", "sets"], words))
    rows: Table[PredictionSets] = Table(made(PredictionSets, {
        **at, **at["clean"], "range": Interval(*at["clean"]["range"])}) for at in found["radii"])
    rows.about = f"{found['test']} images tested, {found['calibration']} for calibration"
    return rows


class Detection(NamedTuple):
    """Own images against foreign ones, by the area under the ROC curve of their confidences."""
    quantity: str  #: "AUC", "AAUC" under attack, "GAUC" guaranteed
    value: float
    interval: Interval  #: of 95 %, where images of both sides are drawn again
    fpr95: float | None  #: share of foreign images that reach what 95 % of the own ones reach


@shared(ModelOptions)
def ood(model: Path, own: object, foreign: object, *, epsilon: float, method: str = "crown",
        attacked: int = 50, **given: Unpack[ModelOptions]) -> Table[Detection]:
    """Compare the confidences on own and foreign images: as they are, under attack, guaranteed.

    The guarantee holds in a ball of radius epsilon in every value around each foreign image, by
    bounds of the layers. model is a model file or ONNX file, as export_onnx writes one. attacked is
    the most foreign images that are attacked, too; with 0 none are. A guarantee of 0 says that
    every bound is vacuous: networks trained for bounds have better ones.
    """
    of_file(model)
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        path = os.path.join(folder, "{}.ood").format
        radius = flags({"eps": epsilon})
        with job(model, own, None, given) as asked:
            asked.run(["ood", "bound"], ["--eps=0", f"--out={path('own')}"])
        with job(model, foreign, None, given) as asked:
            lines = asked.run(["ood", "bound"],
                              [*radius, f"--method={method}", f"--out={path('bounds')}"])
        files = [path("bounds")]
        if whole(attacked, "attacked"):
            with job(model, foreign, None, given) as asked:
                count = min(attacked, lines.count("\n"))
                words = [*radius, f"--count={count}", f"--out={path('attacks')}"]
                asked.run(["ood", "attack"], words)
            files.append(path("attacks"))
        found = json.loads(run(["ood", "auc", f"--in={path('own')}",
                                f"--foreign={','.join(files)}", "--json"]))
    rates = {"auc": found["fpr95"], "aauc": None, "gauc": found["gfpr95"]}
    ends = {name: both["bootstrap"] for name, both in found["intervals"].items()}
    return Table(Detection(name.upper(), found[name],
                           Interval(ends[name]["lower"], ends[name]["upper"]), rate)
                 for name, rate in rates.items() if found[name] is not None)


def train(path: Path, images: str | os.PathLike[str], *, net: str = "small-cnn", sigma: float,
          method: str = "gaussian", epochs: int = 10, views: str | None = None,
          augment: str = "none", batch: int = 128, rate: float = 0.1, seed: int | None = None,
          test: str | None = None, start: Path | None = None, options: Sequence[str] = (),
          progress: bool = True) -> str:
    """Train a network on noisy images by the program, and return the path of the model file.

    images is the name of a data set or a folder. method is one of `certspec train --list`, views an
    augmentation that makes views of an image, such as "fouriermix". start is a model file whose
    weights it begins with. The same call goes on after an interruption; a model file that is there
    with the same recipe is returned as it is. options are further flags of the program.
    """
    if not isinstance(images, (str, os.PathLike)):
        raise TypeError(f"images are a {type(images).__name__}; expected the name of a data set, "
                        "or a folder of pictures")
    target = os.path.abspath(os.fspath(path))
    words = flags({
        "data": data_of(images), "test": None if test is None else data_of(test), "net": net,
        "method": method, "views": views, "augment": augment, "sigma": spread(sigma),
        "epochs": whole(epochs, "epochs", 1), "batch": whole(batch, "batch", 1), "rate": rate,
        "start": None if start is None else os.path.abspath(os.fspath(start)), "seed": seed})
    os.makedirs(os.path.dirname(target), exist_ok=True)
    run(["train", *words, f"--out={target}", *options], show=progress)
    return target


class Votes(Result, Drawn):
    """How often the model gives each class to noise samples of one image, and what that proves."""

    def __init__(self, counts: Sequence[int], label: int, lower: float, radius: float,
                 about: str) -> None:
        self.counts, self.label, self.lower, self.radius = list(counts), label, lower, radius
        self.about = about
        self.predict = int(np.argmax(self.counts))  #: the class with the most votes

    def __repr__(self) -> str:
        return f"class {self.predict}, radius {self.radius:.3f}: {self.about}"

    def _records(self) -> Sequence[Mapping[str, object]]:
        return [{"class": number, "votes": count} for number, count in enumerate(self.counts)]

    def _notes(self) -> Sequence[str]:
        return [f"p is at least {self.lower:.4f}; radius {self.radius:.4f}. The class was chosen "
                "by the same votes: a certificate takes others for that"]

    def _panel(self) -> Panel:
        places = range(len(self.counts))
        shares = [count / max(1, sum(self.counts)) for count in self.counts]
        return Panel([Curve("", places, shares, holds="points")], "class", "share of noise samples",
                     f"Votes: radius {self.radius:.3f}", self.about, [*map(str, places)])


@shared(PlanOptions)
def votes(model: object, images: Any, image: int = 0, labels: object = None, *, sigma: float,
          n: int = 1000, **given: Unpack[PlanOptions]) -> Votes:
    """Count the classes that a model gives to n noise samples of one image, the image-th.

    The bound and the radius are for the class with the most votes.
    """
    words = flags({"sigma": spread(sigma), "n": whole(n, "n", 1)})
    at = whole(image, "image")
    if isinstance(images, (str, os.PathLike)):
        words.append(f"--image={at}")
    else:
        images = [images[at]] if not hasattr(images, "dtype") else images[at:at + 1]
        labels = None if labels is None else np.asarray(labels).reshape(-1)[at:at + 1]
    with job(model, images, labels, given) as asked:
        one = json.loads(asked.run(["predict"], words))[0]
    counts = one["counts"]
    settings = flags({"sigma": spread(sigma), "alpha": given.get("alpha")})
    total = sum(counts) + one["misses"]
    proof = json.loads(run(["bound", f"--k={max(counts)}", f"--n={total}", *settings, "--json"]))
    about = f"image {one['image'] if isinstance(images, str) else at}, σ = {sigma:g}, n = {n:,}"
    return Votes(counts, one["label"], proof["lower"], proof.get("radius") or 0.0, about)


class Reliability(Table[Cells], Drawn):
    """Confidence and accuracy by bin."""

    def _panel(self) -> Panel:
        some: list[Any] = [row for row in self if row["count"]]
        x, y = ([row[name] for row in some] for name in ("confidence", "accuracy"))
        return Panel([Curve("calibrated", [0.0, 1.0], [0.0, 1.0]),
                      Curve("images, by bin", x, y, holds="points")], "confidence", "accuracy",
                     "Reliability", self.about)


def reliability(ledger: Source, radius: float = 0.0, bins: int = 15) -> Reliability:
    """Confidence and accuracy, by bins of equal width, of the images certified at a radius.

    At a radius above 0 the confidences are as badly calibrated as they can become within it. The
    ledger has scores: certify made it with keep_scores=True.
    """
    at, = distances([radius], "radius")
    bars = [f"--bins={whole(bins, 'bins', 1)}"]
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        path = os.path.join(folder, "intervals.csv")
        run(["calib", "certify", f"--ledger={path_of(ledger)}", f"--radii={at!r}", f"--out={path}"])
        if at > 0:
            worst = os.path.join(folder, "worst.csv")
            run(["calib", "worst", f"--in={path}", *bars, f"--assignment={worst}"])
            at_worst = [columns_of(pathlib.Path(file).read_text(encoding="utf-8"))[name]
                        for file, name in ((path, "correct"), (worst, "confidence"))]
            np.savetxt(path, np.column_stack(at_worst), "%.17g", ",",
                       header="correct,confidence", comments="")
        found = json.loads(run(["calib", "metrics", f"--in={path}", *bars, "--test=0", "--json"]))
    rows = Reliability({name: bar[name] for name in ("lower", "upper", "count", "confidence",
                                                     "accuracy")} for bar in found["bins"])
    what = "as it is" if at == 0 else f"at worst within radius {at:g}"
    rows.about = f"{found['n']} images certified at radius {at:g}, {what}: ECE {found['ece']:.3f}"
    return rows


def pictures(*sets: Any, count: int = 6) -> Sheet:
    """Images of some sets, a row for each: arrays, Datasets, names or folders.

    Of an array they are the first ones, of a named set they are spread over its classes.
    """
    if not sets:
        raise ValueError("sets are missing: expected images, as certify takes them")
    rows = []
    for number, given in enumerate(sets, 1):
        images: Any = given
        if not isinstance(images, (str, os.PathLike)):
            images = images[:whole(count, "count", 1)] if hasattr(images, "dtype") else [
                images[at] for at in range(min(whole(count, "count", 1), len(images)))]
            images = images[..., None] if getattr(images, "ndim", 4) == 3 else images
        with tempfile.TemporaryDirectory(prefix="certspec-") as place, \
                named(images, None, f"images {number}") as (data, name):
            path = os.path.join(place, "all.npy")  # of all frequencies: images as they are
            band_of(data, 0, 1 << 15, path, f"--count={whole(count, 'count', 1)}")
            pixels = np.load(path)
        rows.append((name, list(pixels.repeat(3 // pixels.shape[-1], -1))))
    return Sheet(rows)


def paper(name: str, folder: Path, out: Path | None = None) -> Table[Cells]:
    """A table of a paper: published numbers beside those of a folder of `certspec experiment run`.

    name says which table, such as "sun2021/table2". out saves it as .tex, .md, .csv, .html or
    .txt.
    """
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"no folder {os.fspath(folder)}; certspec experiment run makes one")
    words = ["experiment", "table", os.fspath(folder), name, "--published"]
    text = run([*words, "--format=csv"]).rpartition("\n\n")[2]  # the last of several tables
    numbers = ("here", "published", "difference")
    found: Table[Cells] = Table(
        {name: cell if name not in numbers else None if cell == "–" else float(cell)
         for name, cell in row.items()} for row in csv.DictReader(text.splitlines()))
    if out is not None:
        found.save(out)
    return found


class _Proof(NamedTuple):
    over: str
    images: int
    labelled: int
    right: int  #: labelled images of the class of their label
    proven: int  #: images of one class at every strength
    robust: int  #: images that are right at every strength
    spaced_same: int  #: right images whose class is the same at equally spaced strengths
    spaced_wrong: int  #: those of them that change at another strength
    asked: int  #: images that the model was asked about
    lines: Table[Cells]  #: image, label, class, flip, …


class Proof(_Proof, Result):
    """What `prove` found: counts of images, and a line for each image."""


@shared(ModelOptions)
def prove(model: object, images: object, labels: object = None, *, over: str,
          out: Path | None = None, spaced: int = 5, **given: "Unpack[ModelOptions]") -> Proof:
    """Prove that the class is the same at every strength of a corruption.

    over is a corruption with its range: "brightness=-25:25" in levels of 255, "jpeg=10:100",
    "shift=-2:2" in pixels, or "contrast=0.7:1.3". An image becomes one of finitely many under it,
    and the model is asked about all of them. The result also says what as many equally spaced
    strengths as spaced would have missed. The file out records the run, which then goes on after an
    interruption where identity is given.
    """
    if not isinstance(over, str):
        raise TypeError(f"over is a {type(over).__name__}; expected text such as 'jpeg=10:100'")
    words = [f"--over={over}", f"--spaced={whole(spaced, 'spaced', 2)}"]
    if out is not None:
        words.append("--out=" + os.path.abspath(os.fspath(out)))
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["prove"], words))
    return Proof(found["header"]["over"], **found["claims"], asked=found["asked"],
                 lines=Table(found["images"]))


class HalfSpace(Result, Drawn):
    """The proof of a radius: no classifier that has probability p at an image loses it faster."""

    def __init__(self, p: float) -> None:
        self.p = share(p, "p")
        if self.p <= 0.5:
            raise ValueError(f"p is {p:g}; expected more than 1/2, else there is no radius")
        self.radius = NormalDist().inv_cdf(self.p)  #: in units of σ

    def __repr__(self) -> str:
        return f"p = {self.p:g}: the radius is {self.radius:.4f} σ"

    def _records(self) -> Sequence[Mapping[str, object]]:
        return [{"p": self.p, "radius in units of σ": self.radius}]

    def _panel(self) -> Panel:
        x = np.linspace(0, 2 * self.radius, 81).tolist()
        y = [NormalDist().cdf(self.radius - at) for at in x]
        return Panel([Curve("least probability of the class", x, y),
                      Curve("at the radius: 1/2", [self.radius], [0.5], holds="points")],
                     "distance from the image, in units of σ", "probability of the class",
                     "A half-space is the worst classifier", f"p = {self.p:g} at the image")


def half_space(p: float) -> HalfSpace:
    """The worst classifier of probability p at an image, a half-space, and the radius Φ⁻¹(p)·σ.

    >>> half_space(0.9)
    p = 0.9: the radius is 1.2816 σ
    """
    return HalfSpace(p)


def live(show: Callable[..., object], **sliders: Sequence[float]) -> ipywidgets.interactive:
    """Show what a function returns, with a slider for each argument, in a notebook.

    live(f, image=[0, 1, 2], sigma=[0.1, 0.25]) calls f(image=0, sigma=0.1), and again whenever a
    slider moves. It needs the package ipywidgets: pip install 'certspec[live]'.
    """
    for name, values in sliders.items():
        if isinstance(values, str) or not np.iterable(values) or not list(values):
            raise ValueError(f"{name} is {values!r}; expected a list of values")
    try:
        import ipywidgets
        from IPython.display import display
    except ImportError as error:
        raise ImportError("live needs ipywidgets: pip install 'certspec[live]'") from error

    moved = {name: ipywidgets.SelectionSlider(options=list(values), description=name,
                                              continuous_update=False)
             for name, values in sliders.items()}

    def shown(**at: Any) -> None:
        found = show(**at)
        drawn = found.plot() if isinstance(found, Drawn) else found
        display(drawn)  # type: ignore[no-untyped-call]

    return ipywidgets.interactive(shown, **moved)
