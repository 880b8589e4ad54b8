"""The nets of gomlxmodels/nets in plain JAX, NHWC: same layers, random weights."""

import jax
import jax.numpy as jnp
from jax import lax


class Net:
    """Parameters by name, the batch norm averages among them, and the function that applies them."""

    def __init__(self):
        self.parameters = {}
        self.key = jax.random.key(1)

    def create(self, name, shape, value=None):
        if name not in self.parameters:
            self.key, fresh = jax.random.split(self.key)
            scale = (2 / (shape[0] * shape[1] * shape[-1])) ** 0.5 if len(shape) == 4 else 0.1
            self.parameters[name] = (
                scale * jax.random.normal(fresh, shape) if value is None else jnp.full(shape, value)
            )


class Pass:
    """One forward pass; the first one creates the parameters."""

    def __init__(self, net, parameters, training):
        self.net, self.parameters, self.training, self.averages = net, parameters, training, {}

    def get(self, name, shape, value=None):
        self.net.create(name, shape, value)
        return self.parameters[name]

    def conv(self, name, x, outputs, size, stride):
        w = self.get(name + ".w", (size, size, x.shape[-1], outputs))
        pad = size // 2
        return lax.conv_general_dilated(
            x, w, (stride, stride), ((pad, pad), (pad, pad)), dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def norm(self, name, x):
        c = x.shape[-1:]
        gamma, beta = self.get(name + ".gamma", c, 1.0), self.get(name + ".beta", c, 0.0)
        mean, var = self.get(name + ".mean", c, 0.0), self.get(name + ".var", c, 1.0)
        if self.training:
            m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
            self.averages[name + ".mean"] = 0.9 * mean + 0.1 * m
            self.averages[name + ".var"] = 0.9 * var + 0.1 * v
            mean, var = m, v
        scale = gamma * lax.rsqrt(var + 1e-5)
        return x * scale + (beta - mean * scale)

    def linear(self, name, x, outputs):
        return x @ self.get(name + ".w", (x.shape[-1], outputs)) + self.get(name + ".b", (outputs,), 0.0)


class ResNet(Net):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth

    def apply(self, parameters, x, training):
        p = Pass(self, parameters, training)
        x = jax.nn.relu(p.norm("bn0", p.conv("conv0", x, 16, 3, 1)))
        for stage, width in enumerate((16, 32, 64)):
            for block in range((self.depth - 2) // 6):
                name = f"{stage}.{block}."
                stride = 2 if stage > 0 and block == 0 else 1
                y = jax.nn.relu(p.norm(name + "bn1", p.conv(name + "conv1", x, width, 3, stride)))
                y = p.norm(name + "bn2", p.conv(name + "conv2", y, width, 3, 1))
                if stride != 1:
                    x = p.norm(name + "bn3", p.conv(name + "conv3", x, width, 1, stride))
                x = jax.nn.relu(x + y)
        return p.linear("linear", x.mean((1, 2)), 10), p.averages


class SmallCNN(Net):
    def apply(self, parameters, x, training):
        p = Pass(self, parameters, training)
        for i, (outputs, stride) in enumerate(((16, 1), (32, 2), (64, 2))):
            x = jax.nn.relu(p.norm(f"bn{i}", p.conv(f"conv{i}", x, outputs, 3, stride)))
        return p.linear("linear", x.reshape(x.shape[0], -1), 10), p.averages


def build(name):
    """The net with its parameters and its input shape (height, width, channels)."""
    if name.startswith("resnet"):
        net, shape = ResNet(int(name.removeprefix("resnet"))), (32, 32, 3)
    elif name == "small-cnn":
        net, shape = SmallCNN(), (28, 28, 1)
    else:
        raise ValueError(f"no net {name!r}")
    net.apply(net.parameters, jnp.zeros((1, *shape)), training=False)
    return net, shape
