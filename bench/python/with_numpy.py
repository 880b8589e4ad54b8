"""NumPy. Form: float32 (noise) or float64 (calibration)."""

import numpy as np

import admm_numpy

VERSION = "NumPy " + np.__version__


def prepare(form, sigma, task, net, batch):
    return {"noise": noise, "ece": ece, "admm": admm}[task](form, batch)


def noise(form, batch):
    random = np.random.default_rng(1)
    return lambda: random.standard_normal(batch, dtype=form), batch


def ece(form, batch):
    """The ECE over 15 equal bins, in the fastest way that NumPy has."""
    random = np.random.default_rng(1)
    confidence, correct = random.random(batch), random.random(batch) < 0.7

    def step():
        bin = np.minimum((confidence * 15).astype(np.int64), 14)
        return np.abs(np.bincount(bin, confidence - correct, 15)).sum() / batch

    return step, batch


def admm(form, batch):
    steps = 100
    return admm_numpy.prepare(batch, 15, steps), steps
