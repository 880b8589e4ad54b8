"""Contenders in JAX. Form: jit."""

import jax
import jax.numpy as jnp
import numpy as np

import jax_nets

VERSION = "JAX " + jax.__version__


def prepare(form, sigma, task, net, batch):
    return {"certify": certify, "train": train, "noise": noise}[task](sigma, net, batch)


def certify(sigma, name, batch):
    """The inner loop of Cohen et al. (2019), Certify: noisy copies of one image, classes, counts."""
    net, shape = jax_nets.build(name)
    image = jax.random.uniform(jax.random.key(1), shape)

    @jax.jit
    def block(parameters, image, key, counts):
        key, fresh = jax.random.split(key)
        copies = image + sigma * jax.random.normal(fresh, (batch, *shape))
        logits, _ = net.apply(parameters, copies, training=False)
        return key, counts + jnp.bincount(logits.argmax(-1), length=10)

    state = [jax.random.key(2, impl="rbg"), jnp.zeros(10, jnp.int32)]

    def step():
        state[:] = block(net.parameters, image, *state)
        state[1].block_until_ready()

    return step, batch


def train(sigma, name, batch):
    """One step of SGD on noisy images: momentum 0.9, coupled weight decay 1e-4, batch norm."""
    net, shape = jax_nets.build(name)
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (8 * batch, *shape), dtype=np.uint8)
    labels = random.integers(0, 10, 8 * batch)

    def loss(parameters, x, y):
        logits, averages = net.apply(parameters, x, training=True)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean(), averages

    def update(parameters, momentum, key, x, y):
        key, fresh = jax.random.split(key)
        x = x.astype(jnp.float32) / 255
        x += sigma * jax.random.normal(fresh, x.shape)
        gradient, averages = jax.grad(loss, has_aux=True)(parameters, x, y)
        momentum = jax.tree.map(lambda m, g, p: 0.9 * m + g + 1e-4 * p, momentum, gradient, parameters)
        parameters = jax.tree.map(lambda p, m: p - 0.1 * m, parameters, momentum)
        return parameters | averages, momentum, key

    update = jax.jit(update, donate_argnums=(0, 1))
    state = [net.parameters, jax.tree.map(jnp.zeros_like, net.parameters), jax.random.key(2, impl="rbg")]

    def step():
        chosen = random.integers(0, 8 * batch, batch)
        state[:] = update(*state, images[chosen], labels[chosen])
        jax.block_until_ready(state[0])

    return step, batch


def noise(sigma, name, batch):
    """Normal values alone."""
    state = [jax.random.key(2, impl="rbg")]

    @jax.jit
    def draw(key):
        key, fresh = jax.random.split(key)
        return key, jax.random.normal(fresh, (batch,))

    def step():
        state[0], values = draw(state[0])
        values.block_until_ready()

    return step, batch
