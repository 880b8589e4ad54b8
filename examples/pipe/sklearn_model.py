"""A scikit-learn classifier served to certspec. It was trained on images as rows of values, height × width × channel,
with white as 1.0, and saved by joblib.dump; its labels are 0, 1, 2 and so on.

    certspec certify --exec "python examples/pipe/sklearn_model.py model.joblib 28 28 1" --data mnist/test --skip 20 --sigma 0.25 --n 10000
"""
import sys

import joblib
import numpy as np

from certspec_pipe import file_digest, serve

model = joblib.load(sys.argv[1])
height, width, channels = map(int, sys.argv[2:5])
if list(model.classes_) != list(range(len(model.classes_))):
    sys.exit(f"the labels are {model.classes_}; expected 0, 1, 2 and so on")


def classify(images):
    return model.predict(images.reshape(len(images), -1).astype(np.float32) / 255)


serve(classify, height=height, width=width, channels=channels, classes=len(model.classes_), output="classes",
      name=type(model).__name__, weights=file_digest(sys.argv[1]))
