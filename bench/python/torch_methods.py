"""Losses of training methods in PyTorch, and attacks, with the settings of gomlxmodels/method.

Rows of logits are ordered by view, then noise, then image.
"""

import math

import torch
from torch.nn import functional as F

VIEWS = {"jsd": 3, "hcr": 3}
NOISES = {"consistency": 2, "hcr": 2, "macer": 16, "smoothadv": 8}


def rows(method):
    return VIEWS.get(method, 1) * NOISES.get(method, 1)


def log_mean(log_p, axis=0):
    return torch.logsumexp(log_p, axis) - math.log(log_p.shape[axis])


def kl(log_p, log_q):
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def loss(method, logits, labels, sigma):
    n = labels.shape[0]
    log_p = F.log_softmax(logits, -1).view(-1, n, logits.shape[-1])
    right = -log_p.gather(-1, labels[None, :, None].expand(log_p.shape[0], n, 1))[..., 0]
    if method in ("gaussian", "smoothadv"):
        return right.mean()
    if method == "consistency":
        mean = log_mean(log_p)
        return right.mean() + 20 * kl(mean, log_p).mean() - 0.5 * (mean.exp() * mean).sum(-1).mean()
    if method == "jsd":
        middle = log_mean(log_p).clamp_min(math.log(1e-7))
        return right[0].mean() + 12 * kl(log_p, middle).mean()
    if method == "hcr":
        log_p = log_p.view(3, 2, n, -1)
        views = log_mean(log_p, 1)
        middle = log_mean(views).clamp_min(math.log(1e-7))
        return right[:2].mean() + 40 * kl(views, middle).mean() + 10 * kl(log_p, views[:, None]).mean()
    if method == "macer":
        z = logits.view(-1, n, logits.shape[-1])
        p = log_mean(log_p).exp()
        top, which = F.softmax(16 * z, -1).mean(0).topk(2, -1)
        xi = torch.special.ndtri(top[:, 0]) - torch.special.ndtri(top[:, 1])
        counts = (which[:, 0] == labels) & xi.isfinite() & (xi.abs() <= 8)
        safe = torch.where(counts[:, None], top, torch.tensor([0.75, 0.25]))
        radius = torch.special.ndtri(safe[:, 0]) - torch.special.ndtri(safe[:, 1])
        robust = torch.where(counts, sigma / 2 * (8 - radius), torch.zeros(()))
        return (-torch.log(p.gather(1, labels[:, None])[:, 0] + 1e-10) + 12 * robust).mean()
    raise ValueError(f"no method {method!r}")


def attack(net, x, delta, labels, steps=2, epsilon=255 / 256):
    """SmoothAdv: x [n, ...] and delta [m, n, ...], batch norm with its running averages."""
    n, gamma = x.shape[0], torch.zeros_like(x)

    def length(v):
        return v.flatten(1).norm(dim=1).view(-1, 1, 1, 1)

    net.eval()
    for _ in range(steps):
        gamma = gamma.detach().requires_grad_()
        z = net((x + gamma + delta).flatten(0, 1)).view(-1, n, 10)
        objective = -log_mean(F.log_softmax(z, -1)).gather(1, labels[:, None]).sum()
        (g,) = torch.autograd.grad(objective, gamma)
        with torch.no_grad():
            gamma = gamma + 2 * epsilon / steps * g / length(g).clamp_min(1e-12)
            gamma = (x + gamma).clamp(0, 1) - x
            gamma = gamma * (epsilon / length(gamma).clamp_min(1e-12)).clamp_max(1)
    net.train()
    return gamma.detach()


def pgd(net, images, labels, steps):
    """Foolbox's PGD in the Euclidean norm, 0.5 at most."""
    import foolbox

    net.eval()
    model = foolbox.PyTorchModel(net, bounds=(0, 1), device="cpu")
    search = foolbox.attacks.L2ProjectedGradientDescentAttack(steps=steps)
    criterion = foolbox.criteria.Misclassification(labels)
    return lambda: search.run(model, images, criterion, epsilon=0.5)
