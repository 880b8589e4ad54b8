"""ADMM on the mixed-integer program of certified calibration in NumPy, as the paper writes it down (Emde et al.
2025, appendix F): the same algorithm, defaults and projection as internal/calib/mip, all samples at once, in float64."""

import math

import numpy as np


def instance(samples, bins, shift):
    """The synthetic samples of bench/calib.go, by the same formula from NumPy's own random numbers."""
    random = np.random.default_rng(1)
    z = np.minimum(0.999, 0.3 + 0.7 * (1 - random.random(samples) ** 2.2))
    correct = (random.random(samples) < np.clip(z - 0.05, 0.02, 0.99)).astype(float)
    gap = shift * 2 * z * (1 - z)
    return correct, np.maximum(0, z - gap), np.minimum(1, z + gap), z


class Admm:
    def __init__(self, correct, lower, upper, start, bins, eta_a=0.001, eta_z=0.001, rho=0.01, growth=1.004):
        edges = np.arange(bins + 1) / bins
        low, high = edges[:-1], edges[1:]
        reach = (upper[:, None] >= low) & ((lower[:, None] < high) | (np.arange(bins) == bins - 1))
        self.k = (~reach).astype(float)
        self.lower = np.where(reach, np.maximum(lower[:, None], low), 0.0)
        self.upper = np.where(reach, np.minimum(upper[:, None], high), 0.0)
        self.c = correct[:, None]
        self.a = np.full(reach.shape, 1 / bins)
        self.z = np.clip(start[:, None], self.lower, self.upper)
        self.q1, self.q2, self.g = self.a.copy(), self.a.copy(), self.z.copy()
        self.lam1, self.lam2, self.lam3 = (np.zeros_like(self.a) for _ in range(3))
        self.lam4, self.lam5 = np.zeros((len(correct), 1)), np.zeros((len(correct), 1))
        self.unreachable = np.where(reach, 0.0, -np.inf)
        self.eta_a, self.eta_z, self.rho, self.growth = eta_a, eta_z, rho, growth
        self.rows = np.arange(len(correct))
        self.best = -math.inf

    def step(self):
        a, z, rho, k = self.a, self.z, self.rho, self.k
        e = z - self.c
        sign = np.sign((e * a).sum(0))
        unique, valid = a.sum(1, keepdims=True) - 1, (k * a).sum(1, keepdims=True)
        grad = self.lam1 + self.lam2 + rho * (2 * a - self.q1 - self.q2) - sign * e
        grad += self.lam4 + rho * unique + k * (self.lam5 + rho * valid)
        np.clip(grad, -5, 5, out=grad)
        grad *= self.eta_a
        a -= grad
        np.clip(a, -2, 2, out=a)
        sign = np.sign((e * a).sum(0))
        z -= self.eta_z * (self.lam3 + rho * (z - self.g) - sign * a)
        np.clip(z, -2, 2, out=z)
        self.q1 = np.clip(a + self.lam1 / rho, 0, 1)
        v = a + self.lam2 / rho - 0.5
        self.q2 = 0.5 + math.sqrt(v.size) / 2 / np.linalg.norm(v) * v
        self.g = np.clip(z + self.lam3 / rho, self.lower, self.upper)
        self.lam1 += rho * (a - self.q1)
        self.lam2 += rho * (a - self.q2)
        self.lam3 += rho * (z - self.g)
        self.lam4 += rho * (a.sum(1, keepdims=True) - 1)
        self.lam5 += rho * (k * a).sum(1, keepdims=True)
        self.rho = min(rho * self.growth, 10)
        bin = (a + self.unreachable).argmax(1)
        at = self.rows, bin
        projected = np.clip(z[at], self.lower[at], self.upper[at]) - self.c[:, 0]
        value = np.abs(np.bincount(bin, projected, a.shape[1])).sum() / len(bin)
        self.best = max(self.best, value)


def prepare(samples, bins, steps):
    correct, lower, upper, start = instance(samples, bins, 0.3)

    def run():
        admm = Admm(correct, lower, upper, start, bins)
        for _ in range(steps):
            admm.step()
        return admm.best

    return run
