"""A model that lives in this process, as one that answers the program."""
from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from ._images import Images
from ._options import (
    Array, Numbers, class_list, host, integers, normalisation, numeric, whole, word)

Floats = Optional[list[float]]
Part = tuple[Any, Optional[Array]]  #: images where the model is; the classes of slopes
FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  #: numbers of Pillow
OUTPUTS = ("logits", "probabilities", "classes", "sigmoid")
UNSTATED = "none stated; this run alone: "


def state_digest(module: Any, *, persistent_only: bool = False) -> str:
    """The SHA-256 of what computes in a PyTorch module, for the argument identity.

    It covers what print(module) shows; names, types, shapes and values of all parameters and
    buffers, also those that are not saved; and numbers, texts and arrays that parts of a class of
    your own have as attributes. Code that behaves otherwise with the same state is for the caller
    to tell apart. Ledgers of earlier versions have the digest of persistent_only=True, which leaves
    out attributes and buffers that are not saved: two models that differ there have the same. A
    ledger that has it goes on under it, with a warning.
    """
    if not is_module(module):
        raise TypeError(f"module is a {type(module).__name__}; expected a torch.nn.Module")
    digest = hashlib.sha256(repr(module).encode())
    parts = dict(module.state_dict())
    if not persistent_only:
        for named in (module.named_parameters, module.named_buffers):
            parts.update(named(remove_duplicate=False))
    for name, tensor in sorted(parts.items()):
        if not hasattr(tensor, "detach"):
            raise TypeError(f"{name} of the module is a {type(tensor).__name__}, which has no "
                            "digest: say in another way what identifies the model")
        _add(digest, name, tensor)
    for name, part in () if persistent_only else module.named_modules():
        if type(part).__module__.startswith("torch."):
            continue  # it prints its settings
        for key, value in sorted(vars(part).items()):
            if key not in OF_MODULES and not key.startswith("__"):
                _attribute(digest, f"{name}.{key}", value)
    return "sha256:" + digest.hexdigest()


OF_MODULES = frozenset((
    "training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set",
    "_is_full_backward_hook", "call_super_init", "_version"))


def _add(digest: Any, name: str, tensor: Any) -> None:
    """Add an array or tensor."""
    if not hasattr(tensor, "detach"):
        array, kind = np.ascontiguousarray(tensor), tensor.dtype.str
        shape = array.shape
    else:
        tensor = tensor.detach().cpu()
        kind, shape = str(tensor.dtype), tuple(tensor.shape) or (1,)
        if kind == "torch.bfloat16":
            import torch

            array, kind = tensor.contiguous().view(torch.int16).numpy(), "bfloat16"
        else:
            array = np.ascontiguousarray(tensor.numpy())
            kind = array.dtype.str
    digest.update(f"\n{name} {kind} {shape}\n".encode())
    digest.update(array.tobytes())


def _attribute(digest: Any, name: str, value: object) -> None:
    """Add an attribute: a number, a text, an array or tensor, or several of them."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" or hasattr(value, "detach"):
        _add(digest, name, value)
    elif isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        digest.update(f"\n{name} {value!r}\n".encode())
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            _attribute(digest, f"{name}[{number}]", item)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            _attribute(digest, f"{name}[{key!r}]", value[key])


def is_module(model: object) -> bool:
    """Whether a model is a torch.nn.Module, or behaves as one."""
    return all(hasattr(model, name) for name in ("state_dict", "eval", "modules", "parameters"))


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Evaluation mode; then every part is in the mode that it was in.

    An exported program has the mode in which it was exported, and no other.
    """
    modes = [(part, part.training) for part in module.modules()]
    try:
        try:
            module.eval()
        except NotImplementedError:
            pass
        yield
    finally:
        for part, training in modes:
            part.training = training


class Subject:
    """A model with how images enter it and what it answers, ready to be asked."""

    def __init__(self, model: Any, images: Images, *, mean: Numbers = None, std: Numbers = None,
                 layout: str = "chw", output: str = "logits", classes: int | None = None,
                 class_names: Sequence[str] | None = None, name: str = "",
                 identity: str | None = None, batch_size: int | None = None,
                 device: Any = None, processor: Any = None) -> None:
        if identity is not None and (not isinstance(identity, str) or not identity):
            raise ValueError(f"identity is {identity!r}; expected what identifies the model, such "
                             "as state_digest(module), or None")
        self.output = word(output, "output", OUTPUTS)
        self.layout = word(layout, "layout", ("chw", "hwc"))
        self.most = None if batch_size is None else whole(batch_size, "batch_size", 1)
        self.shape: tuple[int, ...] = images.first.shape
        self.normal = normalisation(
            *carried(model, mean, std, processor, self.shape), self.shape[2])
        if not callable(model):
            raise TypeError(f"model is a {type(model).__name__}; expected a torch.nn.Module, a "
                            "function, or the path of a model file")
        if device is not None and not is_module(model):
            raise ValueError("device is for a torch.nn.Module; a function gets an array")
        self.model, self.device, self.identity = model, device, identity
        self.name = name or str(getattr(model, "__name__", type(model).__name__))
        self.stated: str | None = None  #: what a ledger says, in the place of the identity
        self.grid = True  #: images come in multiples of 1/255, as int16; else as float32
        self.gradients = False  #: it answers requests for gradients, too
        problem = getattr(getattr(model, "config", None), "problem_type", None)
        if problem == "multi_label_classification":
            raise ValueError("the model gives several labels to an image, and a certificate is "
                             "about one class: wrap it in a function that answers one question")
        with self.ready():
            self.classes = self._count(images, classes)
        self.class_names = class_list(class_names)
        if self.class_names is not None and len(self.class_names) != self.classes:
            raise ValueError(f"{len(self.class_names)} class_names for {self.classes} classes")

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Evaluation mode, on the device, while the model is asked; all as it was afterwards."""
        if not is_module(self.model):
            yield
            return
        first = next(self.model.parameters(), None)
        before = first.device if self.device is not None and first is not None else None
        with evaluating(self.model):
            try:
                if before is not None:
                    self.model.to(self.device)
                yield
            finally:
                if before is not None:
                    self.model.to(before)

    def _count(self, images: Images, classes: int | None) -> int:
        """The number of classes, as said or as the answer to the first image tells."""
        if self.output == "classes" and classes is None:
            raise ValueError("classes is missing: a model that answers with classes does not tell "
                             "how many there are")
        classes = 2 if self.output == "sigmoid" else classes
        if classes is None:
            rows = self.rows(self.placed(images.first[None].astype(np.int16)))
            if rows.ndim != 2 or rows.shape[0] != 1 or rows.shape[1] < 2:
                hint = "; for a single value say output='sigmoid'" if rows.size == 1 else ""
                raise ValueError(f"the model answers one image with shape {rows.shape}; expected "
                                 f"(1, classes){hint}")
            classes = int(rows.shape[1])
        classes = whole(classes, "classes", 2)
        labels = images.labels
        if labels is not None and not 0 <= labels.min() <= labels.max() < classes:
            raise ValueError(f"labels from {labels.min()} to {labels.max()} for {classes} classes")
        return classes

    def weights(self) -> str:
        """What computes: the model, and what its images go through."""
        if self.stated is not None:
            return self.stated
        parts = [self.identity or UNSTATED + secrets.token_hex(8)]
        parts += [] if self.most is None else [f"batches of {self.most}"]
        parts += [self.layout, *(f"{name} {values}" for name, values in self.normal.items())]
        return ", ".join(parts)

    def hello(self) -> bytes:
        """What the program is told first."""
        height, width, channels = self.shape
        output = "probabilities" if self.output == "sigmoid" else self.output
        return json.dumps({
            "name": self.name, "height": height, "width": width, "channels": channels,
            "layout": "hwc", "dtype": "int16" if self.grid else "float32", "classes": self.classes,
            "class_names": self.class_names, "output": output, "weights": self.weights(),
            "preprocessing": preprocessing(**self.normal), "gradients": self.gradients,
            "ahead": True}).encode()

    def entering(self, content: bytes, count: int, gradients: bool) -> list[Part]:
        """A request in parts of at most batch_size images, as they enter the model, where it is."""
        kind = "<i2" if self.grid and not gradients else "<f4"
        values = count * int(np.prod(self.shape))
        batch = np.frombuffer(content, kind, values).reshape(count, *self.shape)
        labels = np.frombuffer(content, "<i4")[values:].astype(np.int64) if gradients else None
        step = self.most or count
        return [(self.placed(batch[at:at + step]), None if labels is None else labels[at:at + step])
                for at in range(0, count, step)]

    def answer(self, parts: list[Part], count: int) -> bytes:
        """The answer to a request."""
        if parts[0][1] is not None:
            return np.concatenate([self._slopes(*part) for part in parts]).astype("<f4").tobytes()
        rows = np.concatenate([self.rows(x) for x, _ in parts])
        want = (count,) if self.output == "classes" else (count, self.classes)
        if rows.shape != want:
            raise ValueError(f"the model answers {count} images with shape {rows.shape}; "
                             f"expected {want}")
        if self.output != "classes":
            return np.ascontiguousarray(rows, "<f4").tobytes()
        if ((rows < -1) | (rows >= self.classes)).any():
            raise ValueError(f"the model answers with classes from {rows.min()} to {rows.max()}; "
                             f"expected 0 to {self.classes - 1}")
        return np.ascontiguousarray(rows, "<i4").tobytes()

    def _slopes(self, x: Any, labels: Array | None) -> Array:
        """Probabilities of classes, and their gradients by the images."""
        import torch

        rows: Any = picked(self.model(x.requires_grad_()))
        if self.output == "sigmoid":
            rows = torch.stack([1 - rows.reshape(-1), rows.reshape(-1)], 1)
        rows = rows.float().softmax(1) if self.output == "logits" else rows.float()
        chosen = rows[torch.arange(len(rows)), torch.from_numpy(labels)]
        slope = host(torch.autograd.grad(chosen.sum(), x)[0].float())
        if self.layout == "chw":
            slope = slope.transpose(0, 2, 3, 1)
        slope = slope / np.asarray(self.normal.get("std", 1), np.float32)
        return np.column_stack([host(chosen), slope.reshape(len(slope), -1)])

    def placed(self, batch: Array) -> Any:
        """Images (n, height, width, channels) as they enter the model, where it is."""
        x = batch.astype(np.float32)
        if batch.dtype == np.int16:
            x /= np.float32(255)
        if "mean" in self.normal:
            x -= np.asarray(self.normal["mean"], np.float32)
        if "std" in self.normal:
            x /= np.asarray(self.normal["std"], np.float32)
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2) if self.layout == "chw" else x)
        if not is_module(self.model):
            return x
        import torch

        first = next(self.model.parameters(), torch.zeros(0, device=self.device))
        kind = first.dtype if first.dtype.is_floating_point else torch.float32
        return torch.from_numpy(x).to(first.device, kind)

    def rows(self, x: Any) -> Array:
        """What the model answers."""
        if is_module(self.model):
            import torch

            with torch.no_grad(), exported():
                answer = self.model(x)
        else:
            answer = self.model(x)
        rows = numeric(host(picked(answer)), "the model's answers")
        if self.output == "classes":
            return integers(rows, "the model's answers")
        return _binary(rows) if self.output == "sigmoid" else rows


@contextmanager
def exported() -> Iterator[None]:
    """Say what to do where an exported program refuses the shape of a batch."""
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        if not re.match(r"Guard failed|Expected input at ", str(error)):
            raise
        raise ValueError(
            f"the exported program refuses a batch ({error}): export it for batches of any size, "
            "torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim('batch')},)), "
            "with an x of 2 images or more") from error


def picked(answer: Any) -> object:
    """The rows among what a model answers: its logits, the first of a tuple, or all of it."""
    if getattr(answer, "logits", None) is not None:
        return answer.logits
    if isinstance(answer, Mapping):
        if "logits" in answer:
            return answer["logits"]
        if len(answer) == 1:
            return next(iter(answer.values()))
        raise TypeError(f"the model answers with {sorted(map(str, answer))}; expected 'logits' "
                        "among them: wrap it in a function that picks the rows")
    return answer[0] if isinstance(answer, tuple) and answer else answer


def _binary(rows: Array) -> Array:
    """Probabilities of the classes 0 and 1."""
    if rows.ndim not in (1, 2) or rows.size != len(rows):
        raise ValueError(f"the model answers with shape {rows.shape}; output='sigmoid' expects one "
                         "value for each image")
    if ((rows < 0) | (rows > 1)).any():
        raise ValueError(f"the model answers with values from {rows.min()} to {rows.max()}; "
                         "output='sigmoid' expects probabilities, so let it end in a sigmoid")
    rows = rows.reshape(-1, 1).astype(np.float64)
    return np.hstack([1 - rows, rows])


def carried(model: object, mean: Any, std: Any, processor: Any = None,
            shape: Sequence[int] = ()) -> tuple[Any, Any]:
    """Mean and standard deviation: those given, of the processor, or of the card of timm."""
    if mean is not None or std is not None:
        return mean, std
    cfg, card = getattr(model, "pretrained_cfg", None), card_of(model, processor)
    if card.get("do_normalize"):
        cfg = {"mean": card["image_mean"], "std": card["image_std"]}
    if card.get("do_rescale") and round(255 * card["rescale_factor"], 3) != 1:
        raise ValueError(f"the processor multiplies bytes by {card['rescale_factor']}; expected "
                         "1/255: give mean and std, for values from 0 to 1, in its place")
    sides = prepared(card)[0]
    if shape and sides and tuple(shape[:2]) != sides:
        raise ValueError(f"images of {shape[0]}×{shape[1]}, and the processor makes {sides[0]}×"
                         f"{sides[1]} of them: resize them, or give mean and std in its place")
    mean, std = (cfg.get("mean"), cfg.get("std")) if isinstance(cfg, Mapping) else (None, None)
    if mean is not None and std is not None:
        print("mean", list(mean), "and std", list(std), "are those of the model", file=sys.stderr)
    return mean, std


def card_of(model: object, processor: Any = None) -> dict[str, Any]:
    """What an image processor of Hugging Face does: that given, or one that the model has."""
    processor = processor or getattr(model, "image_processor", getattr(model, "processor", None))
    processor = getattr(processor, "image_processor", processor)  # of one for texts, too
    return dict(processor.to_dict()) if hasattr(processor, "to_dict") else {}


def prepared(card: Mapping[str, Any]) -> tuple[tuple[int, int] | None, str]:
    """The height and width that a processor makes, and the words that have a folder make it."""
    sides, words = None, []
    for key, step in (("size", "resize"), ("crop_size", "crop")):
        size = card.get("do_resize" if step == "resize" else "do_center_crop") and card.get(key)
        if size:
            sides = (size["height"], size["width"]) if "height" in size else None
            words.append(f"{step}=" + "x".join(map(str, sides or [size["shortest_edge"]])))
    words.append("filter=" + FILTERS[int(card.get("resample") or 0)])
    return sides, ",".join([*words, "channels=rgb"])


def preprocessing(mean: Floats = None, std: Floats = None) -> str:
    """What happens to an image between the noise and the model, as the program prints it."""
    if mean is None and std is None:
        return "none: the model gets values 0 to 1"
    text = "x" if mean is None else f"(x - {mean})"
    return "values 0 to 1, then " + (text if std is None else f"{text} / {std}")


def entrance_of(weights: str) -> tuple[str, dict[str, object]]:
    """What Subject.weights wrote: the identity, and the arguments layout, mean and std."""
    numbers = r"(\[[^]]*\])"
    form = rf"(.*?)(?:, batches of (\d+))?, (chw|hwc)(?:, mean {numbers})?(?:, std {numbers})?"
    found = re.fullmatch(form, weights)
    if found is None:
        return weights, {}
    identity, batch, layout, mean, std = found.groups()
    named = (("batch_size", batch), ("mean", mean), ("std", std))
    return identity, {"layout": layout, **{name: json.loads(v) for name, v in named if v}}
