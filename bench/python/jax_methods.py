"""Losses of training methods in JAX, and the attack of SmoothAdv, with the settings of gomlxmodels/method.

Rows of logits are ordered by view, then noise, then image.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri

VIEWS = {"jsd": 3, "hcr": 3}
NOISES = {"consistency": 2, "hcr": 2, "macer": 16, "smoothadv": 8}


def rows(method):
    return VIEWS.get(method, 1) * NOISES.get(method, 1)


def log_mean(log_p, axis=0):
    return jax.nn.logsumexp(log_p, axis) - jnp.log(log_p.shape[axis])


def kl(log_p, log_q):
    return (jnp.exp(log_p) * (log_p - log_q)).sum(-1)


def loss(method, logits, labels, sigma):
    n = labels.shape[0]
    log_p = jax.nn.log_softmax(logits).reshape(-1, n, logits.shape[-1])
    right = -jnp.take_along_axis(log_p, labels[None, :, None], -1)[..., 0]
    if method in ("gaussian", "smoothadv"):
        return right.mean()
    if method == "consistency":
        mean = log_mean(log_p)
        return right.mean() + 20 * kl(mean, log_p).mean() - 0.5 * (jnp.exp(mean) * mean).sum(-1).mean()
    if method == "jsd":
        middle = jnp.maximum(log_mean(log_p), jnp.log(1e-7))
        return right[0].mean() + 12 * kl(log_p, middle).mean()
    if method == "hcr":
        log_p = log_p.reshape(3, 2, n, -1)
        views = log_mean(log_p, 1)
        middle = jnp.maximum(log_mean(views), jnp.log(1e-7))
        return right[:2].mean() + 40 * kl(views, middle).mean() + 10 * kl(log_p, views[:, None]).mean()
    if method == "macer":
        z = logits.reshape(-1, n, logits.shape[-1])
        p = jnp.exp(log_mean(log_p))
        top, which = jax.lax.top_k(jax.nn.softmax(16 * z).mean(0), 2)
        xi = ndtri(top[:, 0]) - ndtri(top[:, 1])
        counts = (which[:, 0] == labels) & jnp.isfinite(xi) & (jnp.abs(xi) <= 8)
        safe = jnp.where(counts[:, None], top, jnp.array([0.75, 0.25]))
        radius = ndtri(safe[:, 0]) - ndtri(safe[:, 1])
        robust = jnp.where(counts, sigma / 2 * (8 - radius), 0)
        return (-jnp.log(jnp.take_along_axis(p, labels[:, None], 1)[:, 0] + 1e-10) + 12 * robust).mean()
    raise ValueError(f"no method {method!r}")


def attack(forward, x, delta, labels, steps=2, epsilon=255 / 256):
    """SmoothAdv: x [n, ...] and delta [m, n, ...]; forward gives logits with the running averages of batch norm."""
    n = x.shape[0]

    def objective(gamma):
        z = forward((x + gamma + delta).reshape(-1, *x.shape[1:])).reshape(-1, n, 10)
        log_p = log_mean(jax.nn.log_softmax(z))
        return -jnp.take_along_axis(log_p, labels[:, None], 1).sum()

    def length(v):
        return jnp.sqrt((v * v).sum((1, 2, 3), keepdims=True))

    def step(_, gamma):
        g = jax.grad(objective)(gamma)
        gamma = gamma + 2 * epsilon / steps * g / jnp.maximum(length(g), 1e-12)
        gamma = jnp.clip(x + gamma, 0, 1) - x
        return gamma * jnp.minimum(1, epsilon / jnp.maximum(length(gamma), 1e-12))

    return jax.lax.fori_loop(0, steps, step, jnp.zeros_like(x), unroll=True)
