"""The verbs on models: each builds the program's command line and hands the model over."""
from __future__ import annotations

import copy
import json
import os
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Mapping, Sequence, Union

from . import _program
from ._images import kept
from ._job import job
from ._model import UNSTATED, carried, entrance_of, evaluating, is_module, state_digest
from ._options import (
    ModelOptions, Numbers, Path, PlanOptions, RunOptions, class_list, flags, normalisation,
    of_file, shared, spread, whole)
from ._read import Ledger, Source, Sweep, path_of
from ._results import (
    Accuracy, Attacked, Check, Plan, Prediction, Preflight, Replayed, UnderAttack, made)
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

Words = Union[str, Sequence[str]]
SAMPLES = 10_000


def _noise(sigma: object, n: object, rule: object = None) -> list[str]:
    endless = rule == "anytime" and n == SAMPLES  # its budget ends it
    return flags({"sigma": spread(sigma), "n": None if endless else whole(n, "n", 1)})


def _former(model: object, given: Any, path: str) -> Any:
    """The settings, with the identity of a ledger of an earlier version where it is the model's."""
    now = given.get("identity")
    if not os.path.isfile(path) or not is_module(model) or now != state_digest(model):
        return given
    there = entrance_of(Ledger(path).weights)[0]
    if there == now or there != state_digest(model, persistent_only=True):
        return given
    warnings.warn(f"{path} is of an earlier version, whose state_digest left out attributes and "
                  "buffers that are not saved. It goes on under that identity; so would a model "
                  "that differs in them alone", stacklevel=4)
    return {**given, "identity": there}


def _run(model: Any, path: str, sigma: object, n: object, given: Mapping[str, Any]) -> list[str]:
    """The flags of a run: on an accelerator in blocks of 1,000, unless it has begun with others."""
    words = _noise(sigma, n, given.get("rule"))
    if os.path.exists(path) and not given.get("identity") and callable(model):
        raise ValueError(f"{path} is there, and without identity it cannot go on: name another, or "
                         "give all calls of a run the same identity, as state_digest(module)")
    first = next(model.parameters(), None) if is_module(model) else None
    device = str(given.get("device") or getattr(first, "device", "cpu"))
    fits = whole(n, "n") % 1000 == 0 == given.get("n0", 0) % 1000
    if first is None or device.startswith("cpu") or "block" in given or not fits:
        return words
    block = Ledger(path).header["block"] if os.path.exists(path) else 1000
    return [*words, f"--block={block}"]


@shared(RunOptions)
def certify(model: object, images: object, labels: object = None, *, sigma: float, n: int = SAMPLES,
            ledger: Path | None = None, **given: Unpack[RunOptions]) -> Ledger:
    """Certify images under a model by randomized smoothing, and return the finished ledger.

    sigma is the standard deviation of the noise, where white is 1; n is the maximum number of noise
    samples for an image. The file ledger records the run; without one it is kept as long as what is
    returned. The same call goes on with an interrupted run where identity is given. Arguments of
    models and images are in the help of this package. The settings:

    alpha        bound on the probability that the claim on an image is false
    rule         how many noise samples an image gets: "staged" stops early, "fixed" takes n, "iss"
                 asks a pilot of n0, "betting" decides radii, "anytime" raises radii until budget
    n0           noise samples that choose the class (None: 100, of the rule iss 1,000)
    tolerance    of staged and iss: radius given up for fewer samples (None: 0.04 sigma); of iss,
                 with relative=True, a share of the radius
    radii        of betting: the radii that are tested; futility is the level at which it gives up
                 (None: alpha)
    budget       of anytime: noise samples in all, "5e6", or time, "10m"; until is a mean radius,
                 "radius=0.4", or a share of images, "decided=0.9@0.25"
    noise        "grid" (sound in floating point) or "gaussian"
    block        noise samples in one call of the model (None: 100, on an accelerator 1,000)
    workers      calls of the program at once (None: measured)
    seed         of the noise (None: it follows from model, data and settings)
    keep_scores  True keeps scores for calibration; a number says how many cells

    An exception in the model stops the run and is raised here; so is Ctrl-C. Both keep what is
    finished. A run that fails is a CertspecError.
    """
    with kept(ledger) as place:
        path = os.path.join(place, "run.ledger") if ledger is None else place
        words = _run(model, path, sigma, n, given)
        with job(model, images, labels, _former(model, given, path)) as asked:
            asked.run(["certify"], [*words, f"--out={path}"])
    return Ledger(path, place if ledger is None else None)


@shared(ModelOptions)
def replay(model: object, ledger: Source, images: object, labels: object = None, *,
           count: int | None = None, **given: "Unpack[ModelOptions]") -> Replayed:
    """Ask a model again for the noise samples of a ledger, and compare the counts.

    The images and labels must be the run's. How they enter the model (mean, std, layout,
    batch_size) is read from the ledger where it is not given. count limits the number of images,
    spread evenly over the ledger. Differences on the engine and the instruction set that the ledger
    names are a CertspecError.
    """
    words = [] if count is None else flags({"images": whole(count, "count", 1)})
    return made(Replayed, _again(["ledger", "replay"], model, ledger, images, labels, words, given))


def _again(verb: Sequence[str], model: object, ledger: Source, images: object, labels: object,
           words: Sequence[str], given: Mapping[str, object], gradients: bool = False) -> Any:
    """Run a verb on the model and the images of a ledger."""
    record = Ledger(path_of(ledger))
    weights, how = record.weights, dict(given)
    if not isinstance(model, (str, os.PathLike)):
        identity, entrance = entrance_of(weights)
        named = None if identity.startswith(UNSTATED) else identity
        if gradients and identity.startswith("sha256:") and is_module(model):
            ours = {"identity": state_digest(model)}  # else counts of one, gradients of another
            named = _former(model, ours, record.path)["identity"]
        how = {"identity": named, **entrance, **given}
    with job(model, images, labels, how) as asked:
        if asked.subject is not None:
            asked.subject.gradients = gradients
            asked.subject.grid = not str(record.header["noise"]).startswith("gaussian")
            if how["identity"] is None:
                asked.subject.stated = weights  # it does not tell: only the counts can
        return json.loads(asked.run([*verb, record.path], words))


@shared(ModelOptions)
def attack(model: object, ledger: Source, images: object, labels: object = None, *,
           radii: Sequence[float] = (0.25, 0.5, 0.75), steps: int = 20, n: int = 1000,
           **given: "Unpack[ModelOptions]") -> Attacked:
    """Attack the images of a ledger, and compare the accuracy that is left with the certified one.

    model, images and labels must be the run's, as for replay. A torch.nn.Module gives gradients
    by autograd; of a file the program computes them. Each of the steps follows the mean gradient
    over noise samples; n noise samples then tell the class of the smoothed classifier.
    """
    if callable(model) and not is_module(model):
        raise TypeError(f"model is a {type(model).__name__}; expected a torch.nn.Module, which has "
                        "gradients, or the path of a model file or ONNX file")
    if given.get("output") == "classes":
        raise ValueError("output is 'classes', which have no gradients: let the model answer with "
                         "logits")
    words = flags({"radii": list(radii), "steps": whole(steps, "steps", 1), "n": whole(n, "n", 1)})
    found = _again(["attack"], model, ledger, images, labels, words, given, gradients=True)
    left = Attacked(made(UnderAttack, at) for at in found["radii"])
    left.about = Ledger(path_of(ledger))._about(left[0].images if left else 0)
    return left


@shared(PlanOptions)
def preflight(model: object, images: object, labels: object = None, *, sigma: float,
              n: int = SAMPLES, budget: str | None = None, count: int = 100,
              **given: Unpack[PlanOptions]) -> Preflight:
    """Look a model over before hours of certification, and forecast the run.

    It asks for count images, without noise and with it, and finds the commonest mistakes: no
    training under noise, a forgotten normalisation, labels in another order, answers that depend on
    the batch. With a budget, such as "8h", it names the plan that certifies most in that time. What
    it returns says `ok`, also where it advises against the run.
    """
    words = _noise(sigma, n) + flags({"budget": budget, "images": whole(count, "count", 1)})
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["preflight"], words, accepted=(0, 1)))
    checks = Table(made(Check, check) for check in found["checks"])
    plans = Table(made(Plan, plan) for plan in found["plans"])
    return made(Preflight, {**found, "checks": checks, "plans": plans})


@shared(PlanOptions)
def predict(model: object, images: object, labels: object = None, *, sigma: float, n: int = 1000,
            **given: Unpack[PlanOptions]) -> Table[Prediction]:
    """Classify images by the smoothed classifier, or abstain.

    An answer is wrong with a probability of at most alpha (0.001). It claims no radius.
    """
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["predict"], _noise(sigma, n)))
    return Table(made(Prediction, {**one, "predict": one["class"]}) for one in found)


@shared(RunOptions)
def sweep(model: object, images: object, labels: object = None, *, sigma: float,
          folder: Path | None = None, corrupt: Words = (), severity: Sequence[int] = (),
          n: int = SAMPLES, **given: Unpack[RunOptions]) -> Sweep:
    """Certify images as they are and under corruptions, with a ledger for each in a folder.

    corrupt names corruptions, families or groups, as "fog" or "C" (`certspec corrupt list`);
    without it they are CIFAR-10-C's. With a folder, the same call goes on after an
    interruption; without one, the ledgers are kept as long as what is returned.
    """
    with kept(folder) as target:
        clean = os.path.join(target, "clean.ledger")
        words = _run(model, clean, sigma, n, given)
        with job(model, images, labels, _former(model, given, clean)) as asked:
            asked.run(["sweep"], [*words, *_corruptions(corrupt, severity), f"--out={target}"])
    return Sweep(target, folder is None)


def _corruptions(corrupt: Words, severity: Sequence[int]) -> list[str]:
    names = [corrupt] if isinstance(corrupt, str) else list(corrupt)
    return flags({"corrupt": names or None, "severity": list(severity) or None})


@shared(ModelOptions)
def evaluate(model: object, images: object, labels: object = None, *, corrupt: Words = (),
             severity: Sequence[int] = (), **given: Unpack[ModelOptions]) -> Table[Accuracy]:
    """Measure plain accuracy, without smoothing, on images and under corruptions.

    The first line is for the images as they are.
    """
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["evaluate"], _corruptions(corrupt, severity)))
    return Table(made(Accuracy, one) for one in found)


def export_onnx(module: object, path: Path, *, shape: Sequence[int], mean: Numbers = None,
                std: Numbers = None, class_names: Sequence[str] | None = None) -> str:
    """Write a torch.nn.Module as an ONNX file for batches of any size, and return its path.

    shape is height, width and channels of an image. mean and std are as for certify; they stay
    outside of the graph, on the card beside it. Weights in 16 bits are written as float32, which
    has them all. It needs the packages torch, onnx and onnxscript.
    """
    if not is_module(module):
        raise TypeError(f"module is a {type(module).__name__}; expected a torch.nn.Module")
    if len(shape) != 3 or shape[2] not in (1, 3):
        raise ValueError(f"shape is {tuple(shape)}; expected height, width and channels (1 or 3)")
    height, width, channels = (whole(side, "shape", 1) for side in shape)
    target = os.fspath(path)
    if not target.lower().endswith(".onnx"):
        raise ValueError(f"path is {target!r}; expected one that ends in .onnx")
    card = {"layout": "NCHW", **normalisation(*carried(module, mean, std), channels),
            **({} if class_names is None else {"class_names": class_list(class_names)})}
    folder, name = os.path.split(os.path.abspath(target))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".certspec-") as place:
        _write(module, os.path.join(place, name), (channels, height, width))
        with open(os.path.join(place, name + ".json"), "w", encoding="ascii") as file:
            file.write(json.dumps(card) + "\n")
        for part in sorted(os.listdir(place), reverse=True):  # a card stands before its file
            os.replace(os.path.join(place, part), os.path.join(folder, part))
    return target


@shared(ModelOptions)
def run(*words: str, model: object = None, images: object = None, labels: object = None,
        **given: Unpack[ModelOptions]) -> str:
    """Run any verb of the program, as run("bound", "--k=99", "--n=100"); return what it prints.

    With a model it asks that about images, and prints JSON: run("plan", "--sigma=1", model=…).
    """
    if model is None:
        return _program.run(words, raw=True)
    with job(model, images, labels, given, here=True) as asked:  # words may name files
        if asked.subject is not None:
            asked.subject.grid = False  # some verbs ask between the bytes
        return asked.run(words, (), raw=True)


def _write(module: Any, target: str, sides: Sequence[int]) -> None:
    import torch

    first = next(module.parameters(), torch.zeros(0))
    example = torch.zeros(2, *sides, device=first.device)
    with evaluating(module):
        half = first.dtype in (torch.float16, torch.bfloat16)
        exact = copy.deepcopy(module).float() if half else module
        torch.onnx.export(exact, (example,), target, input_names=["image"], output_names=["logits"],
                          dynamic_shapes=({0: torch.export.Dim("batch")},))


@shared(ModelOptions)
def quantize(model: Path, out: Path, images: object, labels: object = None, *, sigma: float,
             **given: Unpack[ModelOptions]) -> str:
    """Write a network in 8-bit integers, and return its path: ONNX, or of integers alone (.intnet).

    model is a model file or an ONNX file, as export_onnx writes one. Noise samples of the images,
    at the sigma that will be certified, give the ranges of values.
    """
    of_file(model)
    if "class_names" in given:
        raise ValueError("class_names: the file that quantize writes has none; give them to the "
                         "verbs that ask it")
    target = os.path.abspath(os.fspath(out))
    with job(model, images, labels, given) as asked:
        asked.run(["quantize"], [*flags({"sigma": spread(sigma)}), f"--out={target}"])
    return target
