"""Accuracy lines. Form: plain (Python's own statistics) or numpy."""

import json
import os
from importlib.metadata import version
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr, ndtri

VERSION = f"NumPy {np.__version__}, SciPy {version('scipy')}"
SHIFTS = ["cifar10.1_acc", "brightness", "contrast", "defocus_blur", "pixelate", "gaussian_noise", "impulse_noise"]
METRICS = ["cifar10_acc", "jacobian_norm", "high_freq_fracs_within", "high_freq_fracs_between",
           "high_freq_fracs_amp", "consistent_distances_amp", "high_freq_fracs_phase", "consistent_distances_phase"]
GROUPS = [("FT", "GMP"), ("lrr", "lth"), ("biprop", "edgepopup")]


def prepare(form, sigma, task, net, batch):
    if task == "bootstrap":
        return bootstrap(batch), batch
    return (lambda: table(fit_plain if form == "plain" else fit_numpy)), 1


def table(fit):
    with open(os.path.join(os.environ["CERTSPEC_DATA"], "robustnets", "metric_and_OOD_var_dict.json")) as f:
        nets = json.load(f)
    out = []
    for shift in SHIFTS:
        for group in GROUPS:
            for metric in METRICS:
                fits = []
                for arch in "Conv8", "ResNet18", "VGG16":
                    of = [v for k, v in nets.items() if (p := k.split("_"))[0] == arch and p[1] == "clean" and p[2] in group]
                    fits.append(fit([v[metric] for v in of], [v[shift] for v in of], metric.endswith("_acc")))
                out.append([round(sum(f[i] for f in fits) / 3, 2) for i in range(2)])
    return out


def fit_plain(x, y, accuracy):
    probit = NormalDist().inv_cdf
    y = [probit(v / 100) for v in y]
    if accuracy:
        x = [probit(v / 100) for v in x]
    n = len(x)
    mx, my = sum(x) / n, sum(y) / n
    sxx, syy = sum((v - mx) ** 2 for v in x), sum((v - my) ** 2 for v in y)
    sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    return sxy / sxx, sxy * sxy / (sxx * syy)


def fit_numpy(x, y, accuracy):
    x, y = np.array(x), ndtri(np.array(y) / 100)
    if accuracy:
        x = ndtri(x / 100)
    x, y = x - x.mean(), y - y.mean()
    sxy = x @ y
    return sxy / (x @ x), sxy * sxy / ((x @ x) * (y @ y))


def bootstrap(resamples):
    """20 models, 500 images, 45 cells: slope, intercept and R² of each cell, and each model's effective robustness."""
    random = np.random.default_rng(1)
    models, images, cells = 20, 500, 45
    clean = (random.random((images, models)) < 0.8).astype(float)
    shifted = (random.random((images, cells * models)) < 0.6).astype(float)

    def step():
        weights = np.stack([np.bincount(random.integers(0, images, images), minlength=images) for _ in range(resamples)]) / images
        clip = 0.5 / images
        x = ndtri(np.clip(weights @ clean, clip, 1 - clip))[:, None, :]
        share = (weights @ shifted).reshape(resamples, cells, models)
        y = ndtri(np.clip(share, clip, 1 - clip))
        dx, dy = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
        sxy, sxx, syy = (dx * dy).sum(-1), (dx * dx).sum(-1), (dy * dy).sum(-1)
        slope = sxy / sxx
        intercept = y.mean(-1) - slope * x.mean(-1)
        robustness = share - ndtr(slope[..., None] * x + intercept[..., None])
        found = np.concatenate([slope, intercept, sxy * sxy / (sxx * syy), robustness.reshape(resamples, -1)], 1)
        return np.percentile(found, [2.5, 97.5], 0)

    return step
