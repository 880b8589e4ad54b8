"""PyTorch modules as ONNX files that the program opens."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional, Sequence

from ._certify import Numbers
from ._read import Path


def export_onnx(module: Any, path: Path, *, shape: Sequence[int], mean: Numbers = None, std: Numbers = None,
                class_names: Optional[Sequence[str]] = None) -> str:
    """Write a torch.nn.Module as an ONNX file for batches of any size, with a card beside it that says how images enter.

    shape: height, width and channels of an image. mean and std are those of certify; they stay outside of the graph, on the card.
    It needs the packages torch, onnx and onnxscript. Returns the path.
    """
    import torch

    height, width, channels = (int(side) for side in shape)
    target = os.fspath(path)
    if not target.lower().endswith(".onnx"):
        raise ValueError(f"path {target!r}; expected one that ends in .onnx")
    first = next(module.parameters(), None)
    example = torch.zeros(2, channels, height, width, device=first.device if first is not None else "cpu")
    torch.onnx.export(module.eval(), (example,), target, input_names=["image"], output_names=["logits"],
                      dynamic_shapes=({0: torch.export.Dim("batch")},))
    card: Dict[str, Any] = {"layout": "NCHW"}
    for key, value in (("mean", mean), ("std", std)):
        if value is not None:
            card[key] = [float(v) for v in (value if isinstance(value, Sequence) else [value])]
    if class_names is not None:
        card["class_names"] = list(class_names)
    with open(target + ".json", "w", encoding="utf-8") as file:
        json.dump(card, file)
        file.write("\n")
    return target
