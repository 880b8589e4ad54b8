"""Contenders in PyTorch. Forms: eager, channels-last (training), compile, frozen (weights folded into the compiled code)."""

import torch
import torch._dynamo
import torch._inductor.config
from torch.nn import functional as F

import admm_torch
import torch_methods
import torch_nets

VERSION = "PyTorch " + torch.__version__.split("+")[0]


def prepare(form, sigma, task, net, batch, method="gaussian"):
    torch._dynamo.reset()
    torch.manual_seed(1)
    if task == "train":
        return train(form, sigma, net, batch, method)
    return {"certify": certify, "pgd": pgd, "noise": noise, "admm": admm}[task](form, sigma, net, batch)


def certify(form, sigma, name, batch):
    """The inner loop of Cohen et al. (2019), Certify: noise samples of one image, classes, counts."""
    net, shape = torch_nets.build(name)
    net.eval()
    image = torch.rand(1, *shape)
    if form != "eager":
        torch._inductor.config.freezing = form == "frozen"
        net = torch.compile(net, dynamic=False)
    counts = torch.zeros(10, dtype=torch.int64)

    def step():
        with torch.no_grad():
            samples = image.repeat(batch, 1, 1, 1)
            classes = net(samples + sigma * torch.randn_like(samples)).argmax(1)
            counts.add_(torch.bincount(classes, minlength=10))

    return step, batch


def train(form, sigma, name, batch, method):
    """One step of SGD on noisy images: momentum 0.9, coupled weight decay 1e-4, batch norm. Views are images at random."""
    net, shape = torch_nets.build(name)
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    images = torch.randint(0, 256, (8 * batch, *shape), dtype=torch.uint8)
    labels = torch.randint(0, 10, (8 * batch,))
    views, noises = torch_methods.VIEWS.get(method, 1), torch_methods.NOISES.get(method, 1)

    def loss(x, y):
        return torch_methods.loss(method, net(x), y, sigma)

    if form == "channels-last":
        net.to(memory_format=torch.channels_last)
    elif form != "eager":
        loss = torch.compile(loss, dynamic=False)

    def step():
        chosen = torch.randint(0, 8 * batch, (views * batch,))
        x, y = images[chosen].float() / 255, labels[chosen[:batch]]
        delta = sigma * torch.randn(views, noises, batch, *shape)
        if method == "smoothadv":
            x = x + torch_methods.attack(net, x, delta[0], y)
        optimizer.zero_grad(set_to_none=True)
        rows = (x.view(views, 1, batch, *shape) + delta).flatten(0, 2)
        if form == "channels-last":
            rows = rows.contiguous(memory_format=torch.channels_last)
        loss(rows, y).backward()
        optimizer.step()

    return step, batch


def pgd(form, sigma, name, batch):
    """Foolbox's PGD of 20 steps on the network without noise."""
    net, shape = torch_nets.build(name)
    return torch_methods.pgd(net, torch.rand(batch, *shape), torch.randint(0, 10, (batch,)), 20), batch


def noise(form, sigma, name, batch):
    """Normal values alone."""
    return lambda: torch.randn(batch), batch


def admm(form, sigma, name, batch):
    steps = 100
    return admm_torch.prepare(batch, 15, steps, form == "compile"), steps
