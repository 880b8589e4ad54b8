"""PyTorch modules as ONNX files that the program opens."""
from __future__ import annotations

import copy
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Dict, Iterator, Optional, Sequence

from ._check import channel_values, whole
from ._model import carried, is_module

if TYPE_CHECKING:
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


def _write(module: object, target: str, sides: Sequence[int]) -> None:
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
