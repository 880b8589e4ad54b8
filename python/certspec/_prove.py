"""Every strength of a corruption, proven."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from ._job import job
from ._options import ModelOptions, Path, shared, whole
from ._table import Cells, Result, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
