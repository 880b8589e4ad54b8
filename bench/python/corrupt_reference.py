"""The corruptions of imagecorruptions (a package after Hendrycks and Dietterich's generators), with the strengths of CIFAR-C.

The package is for large images: its functions are taken with the tables of severities of the generator of CIFAR-C, its zoom that
keeps the middle, and its elastic transform and frost, which the package has changed, written out. What no longer runs on today's
SciPy, NumPy and scikit-image (four names that have moved) is repaired."""

import importlib.util
import os
import re

import numpy as np

TABLES = {
    "gaussian_noise": "[.04, .06, .08, .09, .10]",
    "shot_noise": "[500, 250, 100, 75, 50]",
    "impulse_noise": "[.01, .02, .03, .05, .07]",
    "speckle_noise": "[.06, .1, .12, .16, .2]",
    "gaussian_blur": "[.4, .6, .7, .8, 1]",
    "glass_blur": "[(.05, 1, 1), (.25, 1, 1), (.4, 1, 1), (.25, 1, 2), (.4, 1, 2)]",
    "defocus_blur": "[(.3, .4), (.4, .5), (.5, .6), (1, .2), (1.5, .1)]",
    "motion_blur": "[(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)]",
    "zoom_blur": "[np.arange(1, 1.06, .01), np.arange(1, 1.11, .01), np.arange(1, 1.16, .01), np.arange(1, 1.21, .01), np.arange(1, 1.26, .01)]",
    "fog": "[(.2, 3), (.5, 3), (.75, 2.5), (1, 2), (1.5, 1.75)]",
    "snow": "[(.1, .2, 1, .6, 8, 3, .95), (.1, .2, 1, .5, 10, 4, .9), (.15, .3, 1.75, .55, 10, 4, .9),"
            " (.25, .3, 2.25, .6, 12, 6, .85), (.3, .3, 1.25, .65, 14, 12, .8)]",
    "spatter": "[(.62, .1, .7, .7, .5, 0), (.65, .1, .8, .7, .5, 0), (.65, .3, 1, .69, .5, 0), (.65, .1, .7, .69, .6, 1), (.65, .1, .5, .68, .6, 1)]",
    "contrast": "[.75, .5, .4, .3, .15]",
    "brightness": "[.05, .1, .15, .2, .3]",
    "saturate": "[(.3, 0), (.1, 0), (1.5, 0), (2, .1), (2.5, .2)]",
    "jpeg_compression": "[80, 65, 58, 50, 40]",
    "pixelate": "[.95, .9, .85, .75, .65]",
}

FOLDER = os.path.dirname(importlib.util.find_spec("imagecorruptions").origin)
FROST = os.path.join(FOLDER, "frost")


def _load():
    with open(os.path.join(FOLDER, "corruptions.py")) as f:
        source = f.read()
    source = source.replace("from scipy.ndimage.interpolation import", "from scipy.ndimage import")
    source = source.replace("from pkg_resources import resource_filename", "resource_filename = None")
    source = source.replace("np.float_)", "np.float64)").replace("multichannel=True", "channel_axis=-1")
    for name, table in TABLES.items():
        pattern = r"(def %s\(.*?\n    c = )\[.*?\]\[\s*severity - 1\]" % name
        source, count = re.subn(pattern, lambda m: m.group(1) + table + "[severity - 1]", source, count=1, flags=re.S)
        assert count == 1, name
    scope = {"__name__": "imagecorruptions.corruptions"}
    exec(compile(source, "corruptions.py", "exec"), scope)
    enlarge = scope["clipped_zoom"]

    def clipped_zoom(image, factor):
        large = enlarge(image, factor)
        side = image.shape[0]
        trim = (large.shape[0] - side) // 2
        return large[trim:trim + side, trim:trim + side]

    scope["clipped_zoom"] = clipped_zoom
    return scope


_scope = _load()
cv2, gaussian, map_coordinates = _scope["cv2"], _scope["gaussian"], _scope["map_coordinates"]


def elastic_transform(image, severity):
    amplitude, sigma, corner = [(0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2, .96, .96)][severity - 1]
    image = np.array(image, dtype=np.float32) / 255
    before = np.float32([[26, 26], [26, 6], [6, 6]])
    after = before + np.random.uniform(-corner, corner, size=before.shape).astype(np.float32)
    image = cv2.warpAffine(image, cv2.getAffineTransform(before, after), (32, 32), borderMode=cv2.BORDER_REFLECT_101)
    dx, dy = [np.random.uniform(-1, 1, size=(32, 32)) for _ in range(2)]
    if sigma:
        dx, dy = [gaussian(d, sigma, mode="reflect", truncate=3) for d in (dx, dy)]
    y, x, z = np.mgrid[:32, :32, :3]
    at = y + (dy * amplitude)[..., None], x + (dx * amplitude)[..., None], z
    return np.clip(map_coordinates(image, at, order=1, mode="reflect"), 0, 1) * 255


_photographs = None


def frost(image, severity):
    global _photographs
    a, b = [(1, .2), (1, .3), (.9, .4), (.85, .4), (.75, .45)][severity - 1]
    if _photographs is None:
        files = sorted(os.listdir(FROST))[:5]
        _photographs = [cv2.resize(cv2.imread(os.path.join(FROST, f)), (0, 0), fx=.2, fy=.2) for f in files]
    layer = _photographs[np.random.randint(5)]
    y, x = np.random.randint(0, layer.shape[0] - 32), np.random.randint(0, layer.shape[1] - 32)
    return np.clip(a * np.array(image) + b * layer[y:y + 32, x:x + 32, ::-1], 0, 255)


NAMES = sorted([*TABLES, "elastic_transform", "frost"])


def function(name):
    """The function of (a Pillow image, severity) that gives an array of bytes, cut off."""
    f = {"elastic_transform": elastic_transform, "frost": frost}.get(name) or _scope[name]
    return lambda image, severity: np.uint8(f(image, severity))
