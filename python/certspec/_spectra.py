"""Spectra of images, and a model's answers to disturbances of one frequency."""
from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from ._figure import Curve, Panel, Picture, Raster, Sheet, draw
from ._images import Filtered, kept, save
from ._job import data_of, job
from ._options import ModelOptions, flags, shared, spread, whole
from ._program import run
from ._results import Drawn
from ._table import Interval, Path, Result, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Ring(NamedTuple):
    """What frequencies of one distance from 0 have in the mean."""
    frequency: int
    bins: int  #: frequencies whose distance rounds to it
    mean: float
    #: of a spectrum, the middle 90 % of its images; of a difference, 95 % for all rings together
    interval: Interval | None = None


class Waves(Result, Drawn):
    """A value for each frequency: `values[v, u]`, frequency (0, 0) in the middle. See `profile`."""

    def __init__(self, name: str, what: str, u: Sequence[int], v: Sequence[int],
                 values: NDArray[np.float64], about: str, rings: Sequence[Ring]) -> None:
        self.name, self.what, self.u, self.v = name, what, list(u), list(v)
        self.values, self.about = values, about
        self._rings = list(rings)
        self._images: tuple[Any, str | None, str] | None = None  #: of a spectrum

    def __repr__(self) -> str:
        return f"{self.what}, {len(self.u)} × {len(self.v)} frequencies: {self.about}"

    def __sub__(self, other: object) -> "Waves":
        """The difference of two on the same frequencies: of spectra, with intervals by ring."""
        if not isinstance(other, Waves):
            return NotImplemented
        if (self.u, self.v, self.what) != (other.u, other.v, other.what):
            raise ValueError("the two have other frequencies or values; expected one size")
        if self._images and other._images:
            rings = _apart(self._images, other._images)
        else:
            rings = [Ring(a.frequency, a.bins, a.mean - b.mean)
                     for a, b in zip(self._rings, other._rings)]
        return Waves(f"{self.name} − {other.name}", self.what, self.u, self.v,
                     self.values - other.values, f"{self.about} − {other.about}", rings)

    def profile(self) -> Table[Ring]:
        """The mean over the frequencies of each ring."""
        return Table(self._rings)

    def _records(self) -> Sequence[Mapping[str, object]]:
        return self.profile()._records()

    def _panel(self) -> Panel:
        if self.values.min() < 0:  # a difference has two signs
            return self._curves()
        logs = self.what == AMPLITUDE
        shown = np.log10(1 + self.values) if logs else self.values
        extent = (self.u[0] - 0.5, self.u[-1] + 0.5, self.v[0] - 0.5, self.v[-1] + 0.5)
        label = f"log₁₀(1 + {self.what})" if logs else self.what
        most = float(shown.max()) or 1.0
        return Panel((), "u (periods over the width)", "v (periods over the height)",
                     f"{self.what[0].upper()}{self.what[1:]} by frequency", self.about,
                     map=Raster(shown, extent, label, most))

    def _curves(self) -> Panel:
        rings = self.profile()
        low, high = ([ring.interval[end] for ring in rings if ring.interval] for end in (0, 1))
        curve = Curve(self.name, [ring.frequency for ring in rings], [ring.mean for ring in rings],
                      low, high)
        title = f"{self.what[0].upper()}{self.what[1:]} by ring"
        return Panel([curve], "frequency (periods per image)", self.what, title, self.about)


AMPLITUDE = "mean amplitude"


@shared(ModelOptions)
def heatmap(model: object, images: object, labels: object = None, *, sigma: float | None = None,
            n: int = 1000, epsilon: float = 4.0, most: int = 7,
            **given: Unpack[ModelOptions]) -> Waves:
    """Disturb images at one frequency after the other, and ask the model.

    Without sigma the values are the model's error; with it the average certified radius, of at most
    n noise samples an image. Frequencies reach from -most to most both ways. epsilon is the norm of
    a disturbance in each channel.
    """
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        words = flags({"epsilon": epsilon, "window": whole(most, "most", 1)})
        if sigma is None:
            words.append("--metric=error")
        else:
            words += ["--metric=acr", f"--ledgers={folder}/ledgers",
                      *flags({"sigma": spread(sigma), "n": whole(n, "n", 1)})]
        with job(model, images, labels, given) as asked:
            found = json.loads(asked.run(["spectral", "heatmap"], words))
    high, wide = found["u"], found["v"]  # the program's u is over the height
    what = "error" if sigma is None else "average certified radius"
    about = f"{found['images']} images, {found['model']}" + (f", σ = {sigma:g}" if sigma else "")
    return Waves(str(found["model"]), what, wide, high,
                 np.array(found["values"], float).reshape(len(high), len(wide)), about,
                 [Ring(**one) for one in found["profile"]])


def spectrum(images: object, *, image_layout: str | None = None,
             data_name: str = "images") -> Waves:
    """The mean amplitude spectrum of images: an array, a Dataset, a data set's name or a folder.

    `a - b` is the difference of two, and `profile` has the mean of each ring of one frequency.
    """
    with named(images, image_layout, data_name) as (data, name):
        words = ["spectral", "spectrum", f"--data={data}", "--json"]
        found = json.loads(run(words, show=False))
        rings = json.loads(run([*words, "--profile"], show=False))
    values = np.array(found["amplitude"], float)
    height, width = values.shape
    spectrum = Waves(name, AMPLITUDE, range(-(width // 2), width - width // 2),
                     range(-(height // 2), height - height // 2), values,
                     f"{name}, {found['images']} images",
                     [Ring(one["frequency"], one["bins"], one["amplitude"],
                           Interval(one["low"], one["high"])) for one in rings["profile"]])
    spectrum._images = images, image_layout, data_name
    return spectrum


def _apart(*both: tuple[Any, str | None, str]) -> list[Ring]:
    """The difference of the amplitudes of two sets, by ring."""
    with named(*both[0]) as (a, _), named(*both[1]) as (b, _):
        words = [f"--data={a}", f"--than={b}", "--json"]
        found = json.loads(run(["spectral", "difference", *words], show=False))
    return [Ring(one["frequency"], one["bins"], one["difference"],
                 Interval(one["low"], one["high"])) for one in found["rings"]]


class Outlier(NamedTuple):
    """An image whose amplitudes are unlike those of the others."""
    image: int
    frequency: int  #: where it is most unlike them
    score: float  #: above 0: more than others have; beyond ±3.5 is unusual


class Outliers(Table[Outlier]):
    """The images of a set least like the others, with their pictures."""
    pictures: Sheet

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.pictures._repr_html_()


def outliers(images: object, count: int = 6, *, image_layout: str | None = None,
             data_name: str = "images") -> Outliers:
    """Find the images least like the others by their amplitudes, the most unlike first.

    The score is the largest over rings of frequencies: how many standard deviations the logarithm
    of the amplitude lies off the median, with the deviation by the median absolute deviation.
    """
    with tempfile.TemporaryDirectory(prefix="certspec-") as place, \
            named(images, image_layout, data_name) as (data, name):
        path = os.path.join(place, "unlike.npy")
        words = [f"--data={data}", f"--most={whole(count, 'count', 1)}", f"--out={path}", "--json"]
        found = json.loads(run(["spectral", "outliers", *words], show=False))
        pixels = np.load(path)
    rows = Outliers(Outlier(**one) for one in found["outliers"])
    rows.about = f"{name}, {found['images']} images"
    rows.pictures = Sheet([(name, list(pixels.repeat(3 // pixels.shape[-1], -1)))])
    return rows


def band(images: object, start: int, stop: int, labels: object = None, *,
         image_layout: str | None = None, data_name: str = "images") -> Filtered:
    """Keep the frequencies f of start ≤ f < stop alone, in periods over the shorter side.

    The mean of each channel stays; values are rounded to bytes and clipped. What it returns is a
    data set, which certify and the others take; labels go with an array.
    """
    if whole(stop, "stop", 1) <= whole(start, "start"):
        raise ValueError(f"start is {start} and stop {stop}; expected start < stop")
    with kept(None) as own, named(images, image_layout, data_name, labels) as (data, name):
        called = re.sub(r"[^\w=.-]+", "-", name).strip("-") + f"-{start}-{stop}"
        found = band_of(data, start, stop, f"{own}/{called}.npy")
    return Filtered(own, called, f"{found['images']} images, frequencies {start} to {stop}",
                    "labels" in found)


def band_of(data: str, start: int, stop: int, out: str, *words: str) -> dict[str, Any]:
    """Let the program write a band of images into a .npy file."""
    words = f"--data={data}", f"--from={start}", f"--to={stop}", f"--out={out}", *words
    return dict(json.loads(run(["spectral", "band", *words, "--json"], show=False)))


def profile(*of: Waves, title: str | None = None, columns: float | None = None,
            out: Path | None = None) -> Picture:
    """Draw the means by ring of heat maps or spectra of one kind in common axes."""
    if not of or not all(isinstance(one, Waves) for one in of):
        raise TypeError("expected what heatmap or spectrum returns")
    if len({one.what for one in of}) > 1:
        raise ValueError(f"the values are {sorted({one.what for one in of})}; expected one kind")
    panels = [one._curves() for one in of]
    panel = panels[0]._replace(curves=[curve for one in panels for curve in one.curves],
                               about="" if len(of) > 1 else of[0].about)
    return draw([panel if title is None else panel._replace(title=title)], None, None, columns, out)


@contextmanager
def named(images: Any, layout: str | None, name: str,
          labels: object = None) -> Iterator[tuple[str, str]]:
    """Images as a data set of the program, and a short name."""
    if isinstance(images, (str, os.PathLike)):
        short = str(getattr(images, "name", "")) or os.path.basename(os.fspath(images).rstrip("/"))
        yield data_of(images), short
        return
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        yield save(images, labels, folder, layout, name).data, name
