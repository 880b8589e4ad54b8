"""Spectra and probes in NumPy and PyTorch, one thread. Form: numpy or torch."""

from importlib.metadata import version

import numpy as np

VERSION = f"NumPy {np.__version__}, PyTorch {version('torch')}"


def prepare(form, sigma, task, net, batch):
    images = np.random.default_rng(1).integers(0, 256, (batch, 3, 32, 32), dtype=np.uint8)
    return {"numpy": in_numpy, "torch": in_torch}[form](task, images), batch


def in_numpy(task, images):
    basis = wave()
    planes = images / 255
    clean = planes.astype(np.float32)
    perturbed = np.empty_like(clean)
    signs = np.random.default_rng(2).choice([-1, 1], (len(images), 3, 1, 1)).astype(np.float32)
    return {
        "rfft2": lambda: np.fft.rfft2(planes),
        "spectrum": lambda: np.abs(np.fft.rfft2(images / 255)).mean((0, 1)),
        "probe": lambda: clean + signs * basis,
        "probe in place": lambda: np.add(clean, basis, out=perturbed),
    }[task]


def in_torch(task, images):
    import torch

    torch.set_num_threads(1)
    basis, clean = torch.tensor(wave()), torch.tensor(images / 255, dtype=torch.float32)
    planes = torch.tensor(images / 255)
    perturbed = torch.empty_like(clean)
    return {
        "rfft2": lambda: torch.fft.rfft2(planes),
        "rfft2 float32": lambda: torch.fft.rfft2(clean),
        "probe in place": lambda: torch.add(clean, basis, out=perturbed),
    }[task]


def wave():
    """The basis image of frequency (3, 5), of norm 4."""
    rows, columns = np.mgrid[:32, :32]
    return (4 * np.sqrt(2) / 32 * np.cos(2 * np.pi * (3 * rows + 5 * columns) / 32)).astype(np.float32)
