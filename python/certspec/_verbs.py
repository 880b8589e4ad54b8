"""The verbs that ask a model: each builds the program's command line and hands the model over."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._check import sigma as checked_sigma
from ._check import whole
from ._model import UNSTATED, entrance_of
from ._options import ModelOptions, PlanOptions, RunOptions, explained, flags, known
from ._place import job
from ._read import Ledger
from ._results import Accuracy, Check, Plan, Prediction, Preflight, Replayed, made

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._check import Path

    Words = Union[str, Sequence[str]]


def _settings(given: Mapping[str, object]) -> List[str]:
    """The flags of a run."""
    return flags({name: value for name, value in given.items()
                  if name not in ModelOptions.__annotations__})


SAMPLES = 10_000


def _noise(sigma: object, n: object, rule: object = None) -> List[str]:
    endless = rule == "anytime" and n == SAMPLES  # its budget ends it
    return flags({"sigma": checked_sigma(sigma), "n": None if endless else whole(n, "n", 1)})


@explained(RunOptions)
def certify(model: object, images: object, labels: object = None, *, sigma: float, n: int = SAMPLES,
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
    words = _noise(sigma, n, given.get("rule")) + _settings(given)
    own = tempfile.mkdtemp(prefix="certspec-") if ledger is None else None
    path = os.path.abspath(os.path.join(own or "", "run.ledger" if ledger is None else ledger))
    try:
        with job(model, images, labels, given) as asked:
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
    how: Dict[str, object] = dict(given)
    if not isinstance(model, (str, os.PathLike)):
        identity, entrance = entrance_of(record.weights)
        named = None if identity.startswith(UNSTATED) else identity
        how = {"identity": named, **entrance, **given}
    words = [] if count is None else flags({"images": whole(count, "count", 1)})
    with job(model, images, labels, {**how, "noise": record.header["noise"]}) as asked:
        if asked.subject is not None and how["identity"] is None:
            asked.subject.stated = record.weights  # it does not tell: only the counts can
        text = asked.run(["ledger", "replay", os.path.abspath(record.path)], words)
    return made(Replayed, json.loads(text))


@explained(PlanOptions)
def preflight(model: object, images: object, labels: object = None, *, sigma: float,
              n: int = SAMPLES, budget: Optional[str] = None, count: int = 100,
              **given: "Unpack[PlanOptions]") -> Preflight:
    """Look a model over before hours of certification, and forecast the run.

    It asks for count images, without noise and with it, and finds the commonest mistakes: no
    training under noise, a forgotten normalisation, labels in another order, answers that depend on
    the batch.
    With a budget, such as "8h", it names the plan that certifies most in that time. What it returns
    says `ok`, also where it advises against the run.
    """
    known("preflight", PlanOptions, given)
    words = _noise(sigma, n) + flags({"budget": budget, "images": whole(count, "count", 1)})
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["preflight"], words + _settings(given), accepted=(0, 1)))
    checks = [made(Check, check) for check in found["checks"]]
    return made(Preflight, {**found, "checks": checks,
                            "plans": [made(Plan, plan) for plan in found["plans"]]})


@explained(PlanOptions)
def predict(model: object, images: object, labels: object = None, *, sigma: float, n: int = 1000,
            **given: "Unpack[PlanOptions]") -> List[Prediction]:
    """Classify images by the smoothed classifier, or abstain.

    An answer is wrong with a probability of at most alpha (0.001). It claims no radius.
    """
    known("predict", PlanOptions, given)
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["predict"], _noise(sigma, n) + _settings(given)))
    return [made(Prediction, {**one, "predict": one["class"]}) for one in found]


@explained(RunOptions)
def sweep(model: object, images: object, labels: object = None, *, sigma: float, folder: "Path",
          corrupt: "Words" = (), severity: Sequence[int] = (), n: int = SAMPLES,
          **given: "Unpack[RunOptions]") -> Dict[str, Ledger]:
    """Certify images as they are and under corruptions, with a ledger for each in a folder.

    corrupt names corruptions, families or groups, as "fog" or "C" (`certspec corrupt list`);
    without it they are those of CIFAR-10-C. The same call goes on after an interruption. The keys
    of the result are "clean", "fog-3" and so on; `certspec sweep table` makes a table of them.
    """
    known("sweep", RunOptions, given)
    target = os.path.abspath(os.fspath(folder))
    words = _noise(sigma, n, given.get("rule")) + _settings(given)
    words += _corruptions(corrupt, severity)
    words.append(f"--out={target}")
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["sweep", "run"], words))
    return {cell: Ledger(os.path.join(target, cell + ".ledger")) for cell in found["cells"]}


def _corruptions(corrupt: "Words", severity: Sequence[int]) -> List[str]:
    names = [corrupt] if isinstance(corrupt, str) else list(corrupt)
    levels = [str(whole(level, "severity", 1)) for level in severity]
    return [f"--{name}={','.join(words)}" for name, words in
            (("corrupt", names), ("severity", levels)) if words]


@explained(ModelOptions)
def evaluate(model: object, images: object, labels: object = None, *, corrupt: "Words" = (),
             severity: Sequence[int] = (), **given: "Unpack[ModelOptions]") -> List[Accuracy]:
    """Measure plain accuracy, without smoothing, on images and under corruptions.

    The first line is that of the images as they are.
    """
    known("evaluate", ModelOptions, given)
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["evaluate"], _corruptions(corrupt, severity)))
    return [made(Accuracy, one) for one in found]
