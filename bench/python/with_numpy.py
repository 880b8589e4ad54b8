"""Noise in NumPy. Form: float32."""

import numpy as np

VERSION = "NumPy " + np.__version__


def prepare(form, sigma, task, net, batch):
    random = np.random.default_rng(1)
    return lambda: random.standard_normal(batch, dtype=form), batch
