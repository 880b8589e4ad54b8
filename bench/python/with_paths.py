"""Images along Fourier paths, a network along them, and exact Jacobians. Form: numpy, torch or, for Jacobians, backward."""

from importlib.metadata import version

import numpy as np

VERSION = f"NumPy {np.__version__}, PyTorch {version('torch')}"
POINTS, BORDER = 100, 6
MEAN = np.array([0.491, 0.482, 0.447]).reshape(3, 1, 1)
STD = np.array([0.247, 0.243, 0.262]).reshape(3, 1, 1)


def prepare(form, sigma, task, net, batch):
    pairs = (np.random.default_rng(1).integers(0, 256, (batch, 2, 3, 32, 32)) / 255 - MEAN) / STD
    if task in ("amplitude", "phase"):
        return (lambda: [path(a, b, task) for a, b in pairs]), batch * POINTS
    if task == "record":
        return record(net, pairs), batch * POINTS
    return jacobian(form, batch), batch


def path(a, b, task):
    """As RobustNets makes them: shift, blend within the window, back."""
    fa, fb = np.fft.fftshift(np.fft.fft2(a), (1, 2)), np.fft.fftshift(np.fft.fft2(b), (1, 2))
    part = np.abs if task == "amplitude" else np.angle
    pa, pb = part(fa), part(fb)
    low = slice(16 - BORDER, 17 + BORDER)
    t = np.linspace(0, 1, POINTS).reshape(-1, 1, 1, 1)
    blend = np.repeat(pa[None], POINTS, 0)
    blend[:, :, low, low] = (1 - t) * pa[None, :, low, low] + t * pb[None, :, low, low]
    spectrum = blend * np.exp(1j * np.angle(fa)) if task == "amplitude" else np.abs(fa) * np.exp(1j * blend)
    return np.fft.ifft2(np.fft.ifftshift(spectrum, (2, 3))).real.astype(np.float32)


def record(net, pairs):
    import torch
    import torch_nets

    torch.set_num_threads(1)
    model = torch_nets.build(net)[0].eval()
    pairs = torch.tensor(pairs, dtype=torch.float32)
    t = torch.linspace(0, 1, POINTS).reshape(-1, 1, 1, 1)
    low = slice(16 - BORDER, 17 + BORDER)

    def step():
        with torch.no_grad():
            for a, b in pairs:
                fa, fb = torch.fft.fftshift(torch.fft.fft2(a), (1, 2)), torch.fft.fftshift(torch.fft.fft2(b), (1, 2))
                blend = fa.angle().repeat(POINTS, 1, 1, 1)
                blend[:, :, low, low] = (1 - t) * fa.angle()[None, :, low, low] + t * fb.angle()[None, :, low, low]
                images = torch.fft.ifft2(torch.fft.ifftshift(torch.polar(fa.abs().expand_as(blend).contiguous(), blend), (2, 3))).real
                p = model(images).softmax(1)
                s = torch.fft.rfft(p, dim=0).abs().mean(1)
                _ = float(s[6:-1].sum() / s.sum()), int((p.argmax(1) != p[0].argmax()).float().argmax())

    return step


def jacobian(form, batch):
    """ResNet-18 in the CIFAR form, a quarter as wide."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
            self.b = nn.Sequential() if i == o and stride == 1 else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            return torch.relu(self.a(x) + self.b(x))

    layers, i = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for o, stride in (16, 1), (32, 2), (64, 2), (128, 2):
        layers += [Block(i, o, stride), Block(o, o, 1)]
        i = o
    model = nn.Sequential(*layers, nn.AvgPool2d(4), nn.Flatten(), nn.Linear(i, 10)).eval()
    images = torch.rand(batch, 3, 32, 32)
    if form == "torch":
        each = torch.func.vmap(torch.func.jacrev(lambda x: model(x[None])[0]))
        return lambda: each(images)

    def step():
        x = images.clone().requires_grad_(True)
        logits = model(x).sum(0)
        for c in range(10):
            torch.autograd.grad(logits[c], x, retain_graph=True)

    return step
