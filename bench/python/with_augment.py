"""Views of CIFAR-sized images in NumPy and Pillow. Forms: numpy (FourierMix, a batch at a time) and pillow (AugMix and
AutoAugment, an image at a time)."""

import math

import numpy as np
import PIL
import scipy
from PIL import Image, ImageEnhance, ImageOps
from scipy.special import ndtr, ndtri

VERSION = f"NumPy {np.__version__}, SciPy {scipy.__version__}, Pillow {PIL.__version__}"
SIDE = 32


def prepare(form, sigma, task, net, batch):
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (batch, SIDE, SIDE, 3), dtype=np.uint8)
    if task.startswith("fouriermix"):
        fouriermix = FourierMix(task)
        return lambda: fouriermix(images, random), batch
    view = {"augmix": augmix, "autoaugment": autoaugment}[task]
    return lambda: [view(Image.fromarray(image), random) for image in images], batch


class FourierMix:
    """The defaults of augment.FourierMix, in float32. Mixing is linear, so that a channel takes one inverse transform."""

    amplitude = np.array([0.2, 0.3, 0.4, 0.5, 0.6], np.float32)
    phase = np.array([math.pi / 12, math.pi / 10, math.pi / 8, math.pi / 6, math.pi / 4], np.float32)
    rotation = np.array([0, 0, 0, 0, 5, 10, 15, 20]) * math.pi / 180
    translation = np.array([0, 0, 0, 0, 1 / 24, 1 / 12, 1 / 8, 1 / 6]) * SIDE
    shear = np.array([0, 0, 0, 0, 0.03, 0.07, 0.11, 0.15]) * math.pi / 180

    def __init__(self, task):
        self.normal = task == "fouriermix"
        self.rows = np.arange(1, SIDE // 2)
        y, x = np.mgrid[:SIDE, :SIDE].reshape(2, 1, -1) - (SIDE - 1) / 2
        self.x, self.y = x.astype(np.float32), y.astype(np.float32)

    def __call__(self, images, random):
        n = len(images)
        x = images.transpose(0, 3, 1, 2).astype(np.float32) / 255
        flat = np.zeros((n, 3, SIDE * SIDE + 1), np.float32)  # the last value comes from outside
        flat[..., :-1] = x.reshape(n, 3, -1)
        spectrum = np.fft.rfft2(x)
        weight = random.dirichlet((1, 1, 1), n).astype(np.float32)
        keep = random.random((n, 1, 1, 1), np.float32)
        factor = np.zeros_like(spectrum)
        moved = np.zeros((n, 3, SIDE * SIDE), np.float32)
        for i in range(3):
            share = random.random(n, np.float32)
            spectral, rest = weight[:, i] * share, weight[:, i] * (1 - share)
            a, phi = self.noise(random, n)
            a *= spectral[:, None, None, None]
            factor.real += a * np.cos(phi)
            factor.imag += a * np.sin(phi)
            at = self.source(random, n)[:, None]
            moved += rest[:, None, None] * np.take_along_axis(flat, at, 2)
        mixed = np.fft.irfft2(spectrum * factor) + moved.reshape(x.shape)
        return keep * x + (1 - keep) * mixed

    def noise(self, random, n):
        shape = n, 3, SIDE, SIDE // 2 + 1
        s_a, s_p = (s[random.integers(0, 5, n)][:, None, None, None] for s in (self.amplitude, self.phase))
        a = 1 + s_a * (2 * random.random(shape, np.float32) - 1)
        u = random.random(shape, np.float32)
        if self.normal:
            c = ndtr(-s_p / 5)
            phi = 5 * ndtri(c + u * (1 - 2 * c))
        else:
            phi = s_p * (2 * u - 1)
        for column in 0, SIDE // 2:
            a[..., -self.rows, column] = a[..., self.rows, column]
            phi[..., -self.rows, column] = -phi[..., self.rows, column]
            phi[..., [0, SIDE // 2], column] = 0
        return a, phi

    def source(self, random, n):
        level = random.integers(0, 8, (3, n))
        theta = self.rotation[level[0]] * random.uniform(-1, 1, n)
        t = np.round(self.translation[level[1]] * random.uniform(-1, 1, (2, n)))
        tan = np.tan(self.shear[level[2]] * random.uniform(-1, 1, n))
        sin, cos = np.sin(theta), np.cos(theta)
        sin, cos, tan, right, down = (v.astype(np.float32)[:, None] for v in (sin, cos, tan, *t))
        x, y = self.x - right, self.y - down
        middle = (SIDE - 1) / 2 + 0.5
        column = np.floor((cos - tan * sin) * x + (sin + tan * cos) * y + middle).astype(np.int32)
        row = np.floor(cos * y - sin * x + middle).astype(np.int32)
        inside = (column >= 0) & (column < SIDE) & (row >= 0) & (row < SIDE)
        return np.where(inside, row * SIDE + column, SIDE * SIDE)


def affine(image, matrix, filter):
    return image.transform(image.size, Image.AFFINE, matrix, resample=filter)


def sign(random, value):
    return value if random.random() < 0.5 else -value


OPERATIONS = [
    lambda im, level, random: ImageOps.autocontrast(im),
    lambda im, level, random: ImageOps.equalize(im),
    lambda im, level, random: ImageOps.posterize(im, 4 - int(level * 4 / 10)),
    lambda im, level, random: im.rotate(sign(random, int(level * 30 / 10)), resample=Image.BILINEAR),
    lambda im, level, random: ImageOps.solarize(im, 256 - int(level * 256 / 10)),
    lambda im, level, random: affine(im, (1, sign(random, level * 0.3 / 10), 0, 0, 1, 0), Image.BILINEAR),
    lambda im, level, random: affine(im, (1, 0, 0, sign(random, level * 0.3 / 10), 1, 0), Image.BILINEAR),
    lambda im, level, random: affine(im, (1, 0, sign(random, int(level * SIDE / 30)), 0, 1, 0), Image.BILINEAR),
    lambda im, level, random: affine(im, (1, 0, 0, 0, 1, sign(random, int(level * SIDE / 30))), Image.BILINEAR),
]


def augmix(image, random):
    """Algorithm 1 of AugMix, as its authors wrote it down."""
    weights, m = np.float32(random.dirichlet((1, 1, 1))), np.float32(random.beta(1, 1))
    mix = np.zeros((SIDE, SIDE, 3), np.float32)
    for weight in weights:
        chain = image
        for _ in range(random.integers(1, 4)):
            chain = OPERATIONS[random.integers(9)](chain, random.uniform(0.1, 3), random)
        mix += weight * (np.asarray(chain, np.float32) / 255)
    return (1 - m) * (np.asarray(image, np.float32) / 255) + m * mix


def enhance(kind):
    return lambda im, i, random: kind(im).enhance(1 + sign(random, 0.9 * i / 9))


POLICY_OPERATIONS = {
    "Invert": lambda im, i, random: ImageOps.invert(im),
    "Contrast": enhance(ImageEnhance.Contrast),
    "Color": enhance(ImageEnhance.Color),
    "Brightness": enhance(ImageEnhance.Brightness),
    "Sharpness": enhance(ImageEnhance.Sharpness),
    "Rotate": lambda im, i, random: im.rotate(sign(random, 30 * i / 9)),
    "ShearY": lambda im, i, random: affine(im, (1, 0, 0, sign(random, 0.3 * i / 9), 1, 0), Image.NEAREST),
    "TranslateX": lambda im, i, random: affine(im, (1, 0, sign(random, int(150 / 331 * SIDE * i / 9)), 0, 1, 0), Image.NEAREST),
    "TranslateY": lambda im, i, random: affine(im, (1, 0, 0, 0, 1, sign(random, int(150 / 331 * SIDE * i / 9))), Image.NEAREST),
    "AutoContrast": lambda im, i, random: ImageOps.autocontrast(im),
    "Equalize": lambda im, i, random: ImageOps.equalize(im),
    "Posterize": lambda im, i, random: ImageOps.posterize(im, 8 - round(i / (9 / 4))),
    "Solarize": lambda im, i, random: ImageOps.solarize(im, 255 * (9 - i) / 9),
}

# Sub-policies: operation, probability in tenths, magnitude; twice.
POLICY = [line.split() for line in """
Invert 1 0 Contrast 2 6
Rotate 7 2 TranslateX 3 9
Sharpness 8 1 Sharpness 9 3
ShearY 5 8 TranslateY 7 9
AutoContrast 5 0 Equalize 9 0
ShearY 2 7 Posterize 3 7
Color 4 3 Brightness 6 7
Sharpness 3 9 Brightness 7 9
Equalize 6 0 Equalize 5 0
Contrast 6 7 Sharpness 6 5
Color 7 7 TranslateX 5 8
Equalize 3 0 AutoContrast 4 0
TranslateY 4 3 Sharpness 2 6
Brightness 9 6 Color 2 8
Solarize 5 2 Invert 0 0
Equalize 2 0 AutoContrast 6 0
Equalize 2 0 Equalize 6 0
Color 9 9 Equalize 6 0
AutoContrast 8 0 Solarize 2 8
Brightness 1 3 Color 7 0
Solarize 4 5 AutoContrast 9 0
TranslateY 9 9 TranslateY 7 9
AutoContrast 9 0 Solarize 8 3
Equalize 8 0 Invert 1 0
TranslateY 7 9 AutoContrast 9 0
""".strip().splitlines()]


def autoaugment(image, random):
    policy = POLICY[random.integers(25)]
    for operation, probability, magnitude in (policy[:3], policy[3:]):
        if random.random() * 10 < int(probability):
            image = POLICY_OPERATIONS[operation](image, int(magnitude), random)
    return np.asarray(image, np.float32) / 255
