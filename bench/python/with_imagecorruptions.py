"""The corruptions of imagecorruptions. Form: the name of a corruption; severity 3."""

from importlib.metadata import version

import numpy as np
from PIL import Image

import corrupt_reference

VERSION = "imagecorruptions " + version("imagecorruptions")
SEVERITY = 3


def prepare(form, sigma, task, net, batch):
    corrupt_reference.cv2.setNumThreads(1)
    random = np.random.default_rng(1)
    ramp = 3 * np.add.outer(np.arange(32), np.arange(32))[..., None]
    images = [Image.fromarray((ramp + random.integers(0, 20, (32, 32, 3))).astype(np.uint8)) for _ in range(batch)]
    corrupt = corrupt_reference.function(form)

    def step():
        for image in images:
            corrupt(image, SEVERITY)

    return step, batch
