"""The verbs that ask a model: each builds the program's command line and hands the model over."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Iterator, List, Mapping, Optional, Sequence

from ._check import sigma as checked_sigma
from ._check import whole
from ._images import save
from ._model import UNSTATED, Subject, entrance_of
from ._options import MODEL, ModelOptions, RunOptions, explained, flags, further, known, only
from ._pipe import serve
from ._read import Ledger, Replayed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._check import Path


class Job:
    """A model and images, ready for a verb."""

    def __init__(self, folder: str, data: str, subject: Subject,
                 given: Mapping[str, object]) -> None:
        self.folder, self.data, self.subject, self.given = folder, data, subject, given

    def run(self, verb: Sequence[str], words: Sequence[str], accepted: Sequence[int] = (0,)) -> str:
        """Run a verb with flags, and return the JSON that it prints."""
        ours = [f"--data={self.data}", *words, "--json"]
        arguments = [*verb, *ours, *further(self.given.get("options", ()), ours)]
        show = bool(self.given.get("progress", True))
        return serve(arguments, self.subject, self.folder, accepted=accepted, show=show)


@contextmanager
def job(model: object, images: object, labels: object,
        given: Mapping[str, object]) -> Iterator[Job]:
    """Put images where the program reads them, for as long as a verb takes."""
    folder = tempfile.mkdtemp(prefix="certspec-")
    try:
        layout, name = given.get("image_layout"), given.get("data_name", "images")
        saved = save(images, labels, folder, layout, name)
        yield Job(folder, saved.data, Subject(model, saved, **only(MODEL, given)), given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings(given: Mapping[str, object]) -> List[str]:
    """The flags of a run."""
    return flags({name: value for name, value in given.items()
                  if name not in ModelOptions.__annotations__})


@explained(RunOptions)
def certify(model: object, images: object, labels: object = None, *, sigma: float, n: int = 10_000,
            ledger: "Optional[Path]" = None, **given: "Unpack[RunOptions]") -> Ledger:
    """Certify images under a model by randomized smoothing, and return the finished ledger.

    sigma is the standard deviation of the noise, where white is 1; n is the maximum number of noise
    samples for an image. The file ledger records the run; without one it is kept as long as what is
    returned. The same call goes on with an interrupted run where identity is given. Further
    arguments: those of models and images in the help of this package, and the settings of
    `certspec certify -h` (alpha, rule, seed, keep_scores, …).

    An exception in the model stops the run and is raised here; so is Ctrl-C. Both keep what is
    finished. A run that fails is a CertspecError.
    """
    known("certify", RunOptions, given)
    words = flags({"sigma": checked_sigma(sigma), "n": whole(n, "n", 1)}) + _settings(given)
    own = None if ledger is not None else tempfile.mkdtemp(prefix="certspec-")
    path = os.path.abspath(os.fspath(ledger) if own is None else os.path.join(own, "run.ledger"))
    try:
        with job(model, images, labels, given) as asked:
            asked.subject.grid = given.get("noise", "grid") == "grid"
            text = asked.run(["certify"], [*words, f"--out={path}"])
    except BaseException:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
        raise
    return Ledger(path, json.loads(text), own)


@explained(ModelOptions)
def replay(model: object, ledger: "Path | Ledger", images: object, labels: object = None, *,
           count: Optional[int] = None, **given: "Unpack[ModelOptions]") -> Replayed:
    """Ask a model again for the noise samples of a ledger, and compare the counts.

    The images and labels are those of the run. How they enter the model (mean, std, layout,
    batch_size) is read from the ledger where it is not given. count limits the number of images,
    spread evenly over the ledger. Differences on the engine and the instruction set that the ledger
    names are a CertspecError.
    """
    known("replay", ModelOptions, given)
    record = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    weights = record.weights
    identity, how = entrance_of(weights)
    how.update(given)
    how.setdefault("identity", None if identity.startswith(UNSTATED) else identity)
    words = [] if count is None else flags({"images": whole(count, "count", 1)})
    with job(model, images, labels, how) as asked:
        asked.subject.grid = str(record.header["noise"]).startswith("grid")
        if how["identity"] is None:  # the ledger does not tell: only the counts can
            asked.subject.stated = weights
        text = asked.run(["ledger", "replay", os.path.abspath(record.path)], words)
    return Replayed(json.loads(text))
