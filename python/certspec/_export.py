"""Models in files: written of a PyTorch module, quantised, attacked."""
from __future__ import annotations

import copy
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from ._check import channel_values, whole
from ._check import sigma as checked_sigma
from ._model import carried, is_module
from ._options import ModelOptions, flags, known
from ._place import job
from ._read import Ledger
from ._results import UnderAttack, made

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._check import Numbers, Path


def export_onnx(module: object, path: "Path", *, shape: Sequence[int], mean: "Numbers" = None,
                std: "Numbers" = None, class_names: Optional[Sequence[str]] = None) -> str:
    """Write a torch.nn.Module as an ONNX file for batches of any size, and return its path.

    shape is height, width and channels of an image. mean and std are those of certify; they stay
    outside of the graph, on the card beside it. Weights in 16 bits are written as float32, which
    has them all. It needs the packages torch, onnx and onnxscript.
    """
    if not is_module(module):
        raise TypeError(f"module is a {type(module).__name__}; expected a torch.nn.Module")
    if len(shape) != 3:
        raise ValueError(f"shape is {tuple(shape)}; expected height, width and channels")
    height, width, channels = (whole(side, "shape", 1) for side in shape)
    target = os.fspath(path)
    if not target.lower().endswith(".onnx"):
        raise ValueError(f"path is {target!r}; expected one that ends in .onnx")
    if mean is None and std is None:
        mean, std = carried(module)
    card: Dict[str, object] = {"layout": "NCHW"}
    for name, value, above in (("mean", mean, False), ("std", std, True)):
        values = channel_values(value, name, channels, above)
        if values is not None:
            card[name] = list(values)
    if class_names is not None:
        card["class_names"] = [str(name) for name in class_names]
    text = json.dumps(card) + "\n"
    with _card(target + ".json", text.encode()):
        _write(module, target, (channels, height, width))
    return target


@contextmanager
def _card(path: str, text: bytes) -> Iterator[None]:
    """Write the card first, as no file may stand without it; where the file fails, take it back."""
    before = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            before = file.read()
    try:
        with open(path, "wb") as file:
            file.write(text)
        yield
    except BaseException:
        if before is None:
            os.unlink(path)
        else:
            with open(path, "wb") as file:
                file.write(before)
        raise


def _write(module: Any, target: str, sides: Sequence[int]) -> None:
    import torch

    first = next(module.parameters(), torch.zeros(0))
    example = torch.zeros(2, *sides, device=first.device)
    modes = [(part, part.training) for part in module.modules()]
    try:
        exact = module.eval()
        if first.dtype in (torch.float16, torch.bfloat16):
            exact = copy.deepcopy(module).float()
        torch.onnx.export(exact, (example,), target, input_names=["image"], output_names=["logits"],
                          dynamic_shapes=({0: torch.export.Dim("batch")},))
    finally:
        for part, training in modes:
            part.training = training


def quantize(model: "Path", out: "Path", images: object, labels: object = None, *, sigma: float,
             **given: "Unpack[ModelOptions]") -> str:
    """Write a network that computes in 8-bit integers, as an ONNX file, and return its path.

    model is a model file or an ONNX file, as export_onnx writes one. Noise samples of the images,
    at the sigma that will be certified, give the ranges of values.
    """
    known("quantize", ModelOptions, given)
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model is a {type(model).__name__}; expected the path of a file: "
                        "export_onnx writes one of a torch.nn.Module")
    target = os.path.abspath(os.fspath(out))
    with job(model, images, labels, given) as asked:
        asked.run(["quantize"], [*flags({"sigma": checked_sigma(sigma)}), f"--out={target}"])
    return target


def attack(ledger: "Path | Ledger", model: "Path", images: object, labels: object = None, *,
           radii: Sequence[float] = (0.25, 0.5, 0.75), steps: int = 20, n: int = 1000,
           **given: "Unpack[ModelOptions]") -> List[UnderAttack]:
    """Attack the images of a ledger, and compare the accuracy that remains with the certified one.

    model is the path of what the ledger is about, a file whose gradients the program computes.
    """
    known("attack", ModelOptions, given)
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model is a {type(model).__name__}; expected the path of a file, as the "
                        "program computes the gradients")
    path = ledger.path if isinstance(ledger, Ledger) else os.fspath(ledger)
    words = flags({"radii": list(radii), "steps": whole(steps, "steps", 1), "n": whole(n, "n", 1)})
    with job(model, images, labels, given) as asked:
        found = json.loads(asked.run(["attack", os.path.abspath(path)], words))
    return [made(UnderAttack, at) for at in found["radii"]]
