"""Spectra of images, and a model's answers to disturbances of one frequency."""
from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
from numpy.typing import NDArray

from ._figure import Curve, Panel, Picture, Raster, draw
from ._images import save
from ._job import data_of, job
from ._options import ModelOptions, flags, shared, spread, whole
from ._program import run
from ._results import Drawn
from ._table import Cells, Path, Result, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

Grid = NDArray[np.float64]
FREQUENCY = "frequency (periods per image)"


class Ring(NamedTuple):
    """What frequencies of one distance from 0 have in the mean."""
    frequency: int
    bins: int  #: frequencies whose distance rounds to it
    mean: float


class Waves(Result, Drawn):
    """A value for each frequency: `values[v, u]`, frequency (0, 0) in the middle. See `profile`."""

    def __init__(self, name: str, what: str, u: Sequence[int], v: Sequence[int], values: Grid,
                 about: str, rings: Sequence[Ring] = ()) -> None:
        self.name, self.what, self.u, self.v = name, what, list(u), list(v)
        self.values, self.about = values, about
        self._rings = list(rings)

    def __repr__(self) -> str:
        return f"{self.what}, {len(self.u)} × {len(self.v)} frequencies: {self.about}"

    def __sub__(self, other: object) -> "Waves":
        """The difference of two on the same frequencies; without intervals."""
        if not isinstance(other, Waves):
            return NotImplemented
        if (self.u, self.v, self.what) != (other.u, other.v, other.what):
            raise ValueError("the two have other frequencies or values; expected one size")
        rings = [Ring(a.frequency, a.bins, a.mean - b.mean)
                 for a, b in zip(self.profile(), other.profile())]
        return Waves(f"{self.name} − {other.name}", self.what, self.u, self.v,
                     self.values - other.values, f"{self.about} − {other.about}", rings)

    def profile(self) -> Table[Ring]:
        """The mean over the frequencies of each ring."""
        if self._rings:
            return Table(self._rings)
        far = np.rint(np.hypot(*np.meshgrid(self.u, self.v))).astype(int)
        known = np.isfinite(self.values)
        rings = [(r, self.values[(far == r) & known]) for r in range(int(far.max()) + 1)]
        return Table(Ring(r, len(some), float(some.mean())) for r, some in rings if len(some))

    def _records(self) -> Sequence[Mapping[str, object]]:
        return self.profile()._records()

    def _panel(self) -> Panel:
        known = self.values[np.isfinite(self.values)]
        if known.min(initial=0) < 0:  # a difference has two signs
            return self._curves()
        logs = self.what == AMPLITUDE
        shown = np.log10(1 + self.values) if logs else self.values
        extent = (self.u[0] - 0.5, self.u[-1] + 0.5, self.v[0] - 0.5, self.v[-1] + 0.5)
        label = f"log₁₀(1 + {self.what})" if logs else self.what
        most = float(np.nanmax(shown)) or 1.0
        return Panel((), "u (periods over the width)", "v (periods over the height)",
                     f"{self.what[0].upper()}{self.what[1:]} by frequency", self.about,
                     map=Raster(shown, extent, label, most))

    def _curves(self) -> Panel:
        rings = self.profile()
        curve = Curve(self.name, [ring.frequency for ring in rings], [ring.mean for ring in rings])
        title = f"{self.what[0].upper()}{self.what[1:]} by ring"
        return Panel([curve], FREQUENCY, self.what, title, self.about)


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
        path = os.path.join(folder, "map.tsv")
        words = flags({"epsilon": epsilon, "window": whole(most, "most", 1)})
        if sigma is None:
            words.append("--metric=error")
        else:
            words += ["--metric=acr", f"--ledgers={folder}/ledgers",
                      *flags({"sigma": spread(sigma), "n": whole(n, "n", 1)})]
        with job(model, images, labels, given) as asked:
            found = json.loads(asked.run(["spectral", "heatmap"], [*words, f"--out={path}"]))
        with open(path, encoding="ascii") as file:
            rows = np.loadtxt([line for line in file if line[0] in "-0123456789"], ndmin=2)
    u, v = (sorted({int(x) for x in rows[:, k]}) for k in (0, 1))
    values = np.full((len(v), len(u)), np.nan)
    for column, row, value, *_ in rows:
        values[v.index(int(row)), u.index(int(column))] = value
    what = "error" if sigma is None else "average certified radius"
    about = f"{found['images']} images, {found['model']}" + (f", σ = {sigma:g}" if sigma else "")
    return Waves(str(found["model"]), what, u, v, values, about)


def spectrum(images: object, *, image_layout: str | None = None,
             data_name: str = "images") -> Waves:
    """The mean amplitude spectrum of images: an array, a Dataset, a data set's name or a folder.

    `a - b` is the difference of two, and `profile` has the mean of each ring of one frequency.
    """
    with _set(images, image_layout, data_name) as (folder, data, name):
        found = json.loads(run(["spectral", "spectrum", data, "--json"], folder=folder, show=False))
        rings = json.loads(run(["spectral", "spectrum", data, "--profile", "--json"], folder=folder,
                               show=False))
    values = np.array(found["amplitude"], float)
    height, width = values.shape
    return Waves(name, AMPLITUDE, range(-(width // 2), width - width // 2),
                 range(-(height // 2), height - height // 2), values,
                 f"{name}, {found['images']} images",
                 [Ring(one["frequency"], one["bins"], one["amplitude"])
                  for one in rings["profile"]])


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
def _set(images: Any, layout: str | None, name: str) -> Iterator[tuple[str | None, str, str]]:
    """Images in files, the flag that names them, and a short name."""
    if isinstance(images, (str, os.PathLike)):
        yield None, f"--data={data_of(images)}", os.path.basename(os.fspath(images).rstrip("/"))
        return
    with tempfile.TemporaryDirectory(prefix="certspec-") as folder:
        yield folder, f"--data={save(images, None, folder, layout, name).data}", name


def cells_of(text: str) -> Table[Cells]:
    """The rows of a CSV text of the program, numbers as numbers."""
    import csv

    def value(cell: str) -> float | str:
        try:
            return float(cell)
        except ValueError:
            return cell

    return Table({name: value(cell or "") for name, cell in row.items()}
                 for row in csv.DictReader(text.splitlines()))
