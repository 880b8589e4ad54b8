"""The algorithm of admm_numpy.py in PyTorch, on the CPU. With compile, its step is one compiled function."""

import math

import torch

import admm_numpy


def step(a, z, q1, q2, g, lam1, lam2, lam3, lam4, lam5, rho, c, k, lower, upper, unreachable, eta):
    e = z - c
    sign = torch.sign((e * a).sum(0))
    unique, valid = a.sum(1, keepdim=True) - 1, (k * a).sum(1, keepdim=True)
    grad = lam1 + lam2 + rho * (2 * a - q1 - q2) - sign * e
    grad = grad + lam4 + rho * unique + k * (lam5 + rho * valid)
    a = (a - eta * grad.clamp(-5, 5)).clamp(-2, 2)
    sign = torch.sign((e * a).sum(0))
    z = (z - eta * (lam3 + rho * (z - g) - sign * a)).clamp(-2, 2)
    q1 = (a + lam1 / rho).clamp(0, 1)
    v = a + lam2 / rho - 0.5
    q2 = 0.5 + math.sqrt(v.numel()) / 2 / torch.linalg.vector_norm(v) * v
    g = torch.clamp(z + lam3 / rho, lower, upper)
    lam1 = lam1 + rho * (a - q1)
    lam2 = lam2 + rho * (a - q2)
    lam3 = lam3 + rho * (z - g)
    lam4 = lam4 + rho * (a.sum(1, keepdim=True) - 1)
    lam5 = lam5 + rho * (k * a).sum(1, keepdim=True)
    bin = (a + unreachable).argmax(1, keepdim=True)
    projected = torch.clamp(z, lower, upper).gather(1, bin) - c
    value = torch.zeros(a.shape[1], dtype=a.dtype).scatter_add(0, bin[:, 0], projected[:, 0]).abs().sum() / len(a)
    return a, z, q1, q2, g, lam1, lam2, lam3, lam4, lam5, (rho * 1.004).clamp(max=10), value


def prepare(samples, bins, steps, compiled):
    torch.set_num_threads(1)
    once = torch.compile(step, dynamic=False) if compiled else step
    s = admm_numpy.Admm(*admm_numpy.instance(samples, bins, 0.3), bins)
    constants = [torch.from_numpy(x) for x in (s.c, s.k, s.lower, s.upper, s.unreachable)]

    @torch.no_grad()
    def run():
        state = [torch.from_numpy(x.copy()) for x in (s.a, s.z, s.q1, s.q2, s.g, s.lam1, s.lam2, s.lam3, s.lam4, s.lam5)]
        state.append(torch.tensor(s.rho, dtype=torch.float64))
        best = torch.tensor(-math.inf, dtype=torch.float64)
        for _ in range(steps):
            *state, value = once(*state, *constants, s.eta_a)
            best = torch.maximum(best, value)
        return best.item()

    return run
