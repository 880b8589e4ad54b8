"""torchmetrics on the CPU, without the validation of its arguments."""

import torch
import torchmetrics
from torchmetrics.functional.classification import binary_calibration_error

VERSION = f"torchmetrics {torchmetrics.__version__}, PyTorch {torch.__version__.split('+')[0]}"


def prepare(form, sigma, task, net, batch):
    return {"ece": ece}[task](batch)


def ece(batch):
    confidence, correct = torch.rand(batch), (torch.rand(batch) < 0.7).int()
    return lambda: binary_calibration_error(confidence, correct, n_bins=15, norm="l1", validate_args=False), batch
