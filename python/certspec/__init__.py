"""Certify image classifiers from Python; every number comes from the program certspec.

>>> import certspec
>>> certspec.program().endswith("certspec")
True

A model is a torch.nn.Module, a function of an array, or the path of a model file or ONNX file. It
gets a batch of images as float32, with noise, values from 0 to 1 and beyond, then (x - mean) / std.
It must be a function of one image, the same each time: no dropout, and nothing that depends on the
other images of the batch.

mean, std     one number, or one for each channel, as numbers, array or tensor
layout        "chw" (batch, channels, height, width) or "hwc"
output        "logits", "probabilities", "classes" (whole numbers) or "sigmoid" (the probability of
              class 1, one value for each image)
classes       number of classes, where the output does not tell
class_names   names of the classes, class 0 first: preflight compares them with those of the data
identity      of the model, such as state_digest(module); a run without one cannot be resumed
name          of the model, for people
batch_size    maximum number of images in one call of the model
device        where the module runs; it goes back afterwards
processor     of a Hugging Face model: mean, std and the size of images are its own. A pipeline of
              transformers is a model that has one
progress      False shows nothing
options       further flags of the program, as ["--tolerance", "0.01"]

Images are 8-bit: uint8, or real numbers that are multiples of 1/255. They come as an array or
tensor (N, H, W), (N, H, W, C) or (N, C, H, W), as a Dataset, a DataLoader, or another iterable of
images or batches, with labels or without; or as the name of a data set (`certspec dataset list`)
or a folder of pictures. labels are N whole numbers, or None.

image_layout  "chw" or "hwc", where the shape fits both
data_name     the name of the data in ledgers

Wrong use is a TypeError or ValueError that names the argument. A file that is missing is a
FileNotFoundError, a failed run a CertspecError with the program's sentence.
"""
from inspect import isfunction

from ._figure import Sheet, Svg
from ._front import plot, table
from ._images import Filtered
from ._model import state_digest
from ._options import readable
from ._program import CertspecError, UsageError, program
from ._read import (
    Ledger, Log, Row, Sweep, calibration, compare, ece, from_smoothing_log, metrics, read_ledger,
    report)
from ._results import (
    Accuracy, Attacked, Calibration, Calibrations, Check, Comparison, Difference, MeanRadius,
    Metrics, Plan, Prediction, Preflight, Replayed, Summary, UnderAttack)
from ._spectra import (
    Outlier, Outliers, Ring, Waves, band, heatmap, outliers, profile, spectrum)
from ._starts import Paired, Starts, Verdicts, paired, starts, verdicts
from ._table import Interval, Table
from ._tasks import (
    Detection, HalfSpace, PredictionSets, Proof, Reliability, Votes, half_space, live, ood, paper,
    pictures, prove, reliability, sets, train, votes)
from ._verbs import (
    attack, certify, evaluate, export_onnx, predict, preflight, quantize, replay, run, sweep)

__version__ = "0.1.0.dev0"
__all__ = [
    "Accuracy", "Attacked", "Calibration", "Calibrations", "CertspecError", "Check", "Comparison",
    "Detection", "Difference", "Filtered", "HalfSpace", "Interval", "Ledger", "Log", "MeanRadius",
    "Metrics", "Outlier", "Outliers", "Paired", "Plan", "Prediction", "PredictionSets", "Preflight",
    "Proof", "Reliability", "Replayed", "Ring", "Row", "Sheet", "Starts", "Summary", "Svg", "Sweep",
    "Table", "UnderAttack", "UsageError", "Verdicts", "Votes", "Waves", "attack", "band",
    "calibration", "certify", "compare", "ece", "evaluate", "export_onnx", "from_smoothing_log",
    "half_space", "heatmap", "live", "metrics", "ood", "outliers", "paired", "paper", "pictures",
    "plot", "predict", "preflight", "profile", "program", "prove", "quantize", "read_ledger",
    "reliability", "replay", "report", "run", "sets", "spectrum", "starts", "state_digest", "sweep",
    "table", "train", "verdicts", "votes"]

for _name in __all__:
    _thing = globals()[_name]
    for _call in [_thing] if isfunction(_thing) else filter(isfunction, vars(_thing).values()):
        readable(_call)
del _call, _name, _thing
