"""Serve a model to certspec over standard input and output; engine/pipe/PROTOCOL.md has the format."""
import hashlib
import json
import os
import struct
import sys

import numpy as np


def file_digest(path):
    """The identity of a weights file, for the argument weights of serve."""
    with open(path, "rb") as f:
        return "sha256:" + hashlib.sha256(f.read()).hexdigest()


def serve(classify, *, height, width, channels, classes, dtype="int16", layout="hwc", output="logits", name="", weights="",
          preprocessing=""):
    """Answer batches until certspec ends.

    classify takes an array of n images, (n, height, width, channels) or for the layout chw (n, channels, height, width),
    int16 in multiples of 1/255 or float32 with 1.0 as white, and gives n classes, or (n, classes) logits or probabilities.
    preprocessing is a line for people: what classify does to images before its network.
    """
    sys.stdout.flush()
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints from now on, prints on standard error
    hello = json.dumps({"name": name, "height": height, "width": width, "channels": channels, "layout": layout,
                        "dtype": dtype, "classes": classes, "output": output, "weights": weights, "preprocessing": preprocessing}).encode()
    sink.write(b"certspec" + struct.pack("<II", 1, len(hello)) + hello)
    sink.flush()
    shape = (height, width, channels) if layout == "hwc" else (channels, height, width)
    kind, answer_kind = np.dtype(dtype).newbyteorder("<"), "<i4" if output == "classes" else "<f4"
    while head := source.read(16):
        request, n, size = struct.unpack("<QII", head)
        images = np.frombuffer(source.read(size), kind).reshape(n, *shape)
        answer = np.ascontiguousarray(classify(images), answer_kind)
        if answer.shape != ((n,) if output == "classes" else (n, classes)):
            raise ValueError(f"{answer.shape} is not the shape of {output} for {n} images")
        sink.write(struct.pack("<QII", request, n, answer.nbytes) + answer.tobytes())
        sink.flush()
