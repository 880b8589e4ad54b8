"""A linear classifier in NumPy, served to certspec. It needs no training: class 0 is a picture that is darker
at the bottom, class 1 one that is darker at the top.

    certspec certify --exec "python examples/pipe/numpy_model.py 28 28 1" --data fashionmnist/test --skip 1000 --sigma 0.25 --n 1000
"""
import sys

import numpy as np

from certspec_pipe import serve

height, width, channels = map(int, sys.argv[1:4] or (32, 32, 3))
classes = 10  # as many as the data set has labels
rows = np.repeat(np.linspace(1, -1, height, dtype=np.float32), width * channels)
weights = np.zeros((rows.size, classes), np.float32)
weights[:, 0], weights[:, 1] = rows, -rows
bias = np.full(classes, -1e6, np.float32)
bias[:2] = 0


def classify(images):
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255) @ weights + bias


serve(classify, height=height, width=width, channels=channels, classes=classes, name="top-or-bottom")
