"""Bounds by auto_LiRPA, from the checkout that AUTO_LIRPA names: its packaged release asks for an older PyTorch. CROWN has
intervals between the layers (CROWN-IBP), as certspec's."""

import os
import subprocess
import sys
import tempfile
import types

CHECKOUT = os.environ["AUTO_LIRPA"]
sys.path.insert(0, CHECKOUT)
# What it imports and does not need for bounds.
for name, what in (("graphviz", "Digraph"), ("tqdm", "tqdm"), ("appdirs", "user_cache_dir user_data_dir")):
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.SimpleNamespace(**dict.fromkeys(what.split(), lambda *_: tempfile.gettempdir()))

from with_bounds import CLASSES, EPSILON, weights


def version():
    import auto_LiRPA
    import torch

    commit = subprocess.run(["git", "-C", CHECKOUT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return f"auto_LiRPA {auto_LiRPA.__version__} {commit}, PyTorch {torch.__version__.split('+')[0]}"


def model(net):
    import torch
    from torch import nn

    convs, dense, _, last = weights(net)
    t = lambda a: nn.Parameter(torch.from_numpy(a))
    layers = []
    for w, b, s in convs:
        layer = nn.Conv2d(w.shape[1], w.shape[0], 3, s, 1)
        layer.weight, layer.bias = t(w), t(b)
        layers += [layer, nn.ReLU()]
    layers.append(nn.Flatten())
    for w, b in dense + [last]:
        layer = nn.Linear(w.shape[1], w.shape[0])
        layer.weight, layer.bias = t(w), t(b)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval()


def prepare(form, sigma, task, net, batch):
    import torch
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm

    x = torch.rand(batch, 1, 28, 28)
    low, high = (x - EPSILON).clamp(min=0), (x + EPSILON).clamp(max=1)
    bounded = BoundedModule(model(net), x)
    pairs = [(k, j) for k in range(CLASSES) for j in range(k)]
    c = torch.zeros(batch, len(pairs), CLASSES)
    for i, (k, j) in enumerate(pairs):
        c[:, i, k], c[:, i, j] = 1, -1

    def step():
        box = BoundedTensor(x, PerturbationLpNorm(norm=float("inf"), x_L=low, x_U=high))
        with torch.no_grad():
            return bounded.compute_bounds(x=(box,), C=c, method="CROWN-IBP")

    return step, batch


VERSION = version()
