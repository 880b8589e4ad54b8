"""Images for the notebooks of this folder."""
import gzip
import os
import pathlib

import numpy as np


def images_of(split: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and classes: the first n of FashionMNIST, split train or t10k, from CERTSPEC_DATA.

    Where it has none, n drawn images: 8-bit grey of 28×28 pixels, like those of FashionMNIST.
    """
    folder = pathlib.Path(os.environ.get("CERTSPEC_DATA", ".")) / "fashion-mnist"
    if not folder.exists():
        return draw(n, seed=len(split))
    images, labels = (read(folder / f"{split}-{part}-ubyte.gz")[:n].copy()
                      for part in ("images-idx3", "labels-idx1"))
    return images, labels.astype(int)


def read(path: pathlib.Path) -> np.ndarray:
    """The array in a gzipped IDX file, the form in which FashionMNIST is published."""
    data = gzip.decompress(path.read_bytes())
    sides = np.frombuffer(data, ">i4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sides)


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images and classes of a disc, a square, a cross or a ring on noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 4, n)
    y, x = np.mgrid[:28, :28]
    images = random.integers(0, 60, (n, 28, 28), dtype=np.uint8)
    for image, label in zip(images, labels):
        across, down, size = random.uniform(10, 17, 2).tolist() + [random.uniform(6, 9)]
        dx, dy = np.abs(x - across), np.abs(y - down)
        far = np.hypot(dx, dy)
        shape = [far < size, np.maximum(dx, dy) < size * 0.9, np.minimum(dx, dy) < size / 4,
                 np.abs(far - size) < 1.7][label]
        image[shape & (np.maximum(dx, dy) < size + 2)] += np.uint8(random.integers(80, 160))
    return images, labels
