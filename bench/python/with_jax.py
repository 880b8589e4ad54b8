"""Contenders in JAX. Forms: jit, and in certification bfloat16."""

import jax
import jax.numpy as jnp
import numpy as np

import jax_methods
import jax_nets

VERSION = "JAX " + jax.__version__


def prepare(form, sigma, task, net, batch, method="gaussian"):
    if task == "train":
        return train(sigma, net, batch, method)
    if task == "certify":
        return certify(jnp.bfloat16 if form == "bfloat16" else jnp.float32, sigma, net, batch)
    return noise(batch)


def certify(dtype, sigma, name, batch):
    """The inner loop of Cohen et al. (2019), Certify: noise samples of one image, classes, counts. The network computes in dtype."""
    net, shape = jax_nets.build(name)
    image = jax.random.uniform(jax.random.key(1), shape)
    weights = jax.tree.map(lambda p: p.astype(dtype), net.parameters)

    @jax.jit
    def block(parameters, image, key, counts):
        key, fresh = jax.random.split(key)
        samples = image + sigma * jax.random.normal(fresh, (batch, *shape))
        logits, _ = net.apply(parameters, samples.astype(dtype), training=False)
        return key, counts + jnp.bincount(logits.argmax(-1), length=10)

    state = [jax.random.key(2, impl="rbg"), jnp.zeros(10, jnp.int32)]

    def step():
        state[:] = block(weights, image, *state)
        state[1].block_until_ready()

    return step, batch


def train(sigma, name, batch, method):
    """One step of SGD on noisy images: momentum 0.9, coupled weight decay 1e-4, batch norm. Views are images at random."""
    net, shape = jax_nets.build(name)
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (8 * batch, *shape), dtype=np.uint8)
    labels = random.integers(0, 10, 8 * batch)
    views, noises = jax_methods.VIEWS.get(method, 1), jax_methods.NOISES.get(method, 1)

    def loss(parameters, x, y):
        logits, averages = net.apply(parameters, x, training=True)
        return jax_methods.loss(method, logits, y, sigma), averages

    def update(parameters, momentum, key, x, y):
        key, fresh = jax.random.split(key)
        x = x.astype(jnp.float32) / 255
        delta = sigma * jax.random.normal(fresh, (views, noises, batch, *shape))
        if method == "smoothadv":
            frozen = lambda inputs: net.apply(parameters, inputs, training=False)[0]
            x += jax_methods.attack(frozen, x, delta[0], y)
        x = (x.reshape(views, 1, batch, *shape) + delta).reshape(-1, *shape)
        gradient, averages = jax.grad(loss, has_aux=True)(parameters, x, y)
        momentum = jax.tree.map(lambda m, g, p: 0.9 * m + g + 1e-4 * p, momentum, gradient, parameters)
        parameters = jax.tree.map(lambda p, m: p - 0.1 * m, parameters, momentum)
        return parameters | averages, momentum, key

    update = jax.jit(update, donate_argnums=(0, 1))
    state = [net.parameters, jax.tree.map(jnp.zeros_like, net.parameters), jax.random.key(2, impl="rbg")]

    def step():
        chosen = random.integers(0, 8 * batch, views * batch)
        state[:] = update(*state, images[chosen], labels[chosen[:batch]])
        jax.block_until_ready(state[0])

    return step, batch


def noise(batch):
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
