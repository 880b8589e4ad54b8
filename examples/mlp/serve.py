"""Serve the network of train.py to certspec.

    python serve.py WEIGHTS.npz MEAN STD
"""
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # certspec starts several of these programs, one per core
import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pipe"))
from certspec_pipe import file_digest, serve

weights = np.load(sys.argv[1])
w1, b1, w2, b2 = (weights[name] for name in ("w1", "b1", "w2", "b2"))
height, width, channels = map(int, weights["shape"])
mean, std = map(np.float32, sys.argv[2:4])


def classify(images):
    x = (images.reshape(len(images), -1) - mean) / std
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


serve(classify, height=height, width=width, channels=channels, classes=10, dtype="float32", name="mlp",
      weights=f"{file_digest(sys.argv[1])} mean {mean} std {std}")
