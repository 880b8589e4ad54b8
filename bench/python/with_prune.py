"""Training steps of networks whose weights are chosen by scores: edgepopup and biprop, all weights in one ranking. Form: eager or compile."""

import torch
from torch import nn
from torch.nn.utils import parametrize

import torch_nets

VERSION = "PyTorch " + torch.__version__
SPARSITY = 0.9


class Straight(torch.autograd.Function):
    """The mask of the scores above a threshold; its gradient goes through."""

    @staticmethod
    def forward(ctx, score, threshold):
        return (score.abs() > threshold).to(score.dtype)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Chosen(nn.Module):
    def __init__(self, weight, shared, binary):
        super().__init__()
        self.shared, self.binary = shared, binary
        self.score = nn.Parameter(torch.empty_like(weight))
        nn.init.kaiming_uniform_(self.score, a=5**0.5)
        shared["scores"].append(self.score)

    def forward(self, weight):
        mask = Straight.apply(self.score.abs(), self.shared["threshold"])
        if not self.binary:
            return mask * weight
        with torch.no_grad():
            alpha = (mask * weight).abs().sum() / mask.sum().clamp(min=1)
        return alpha * mask * weight.sign()


def prepare(form, sigma, task, net, batch, method):
    net, shape = torch_nets.build(net)
    shared = {"scores": [], "threshold": torch.tensor(0.0)}
    for m in list(net.modules()):
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            m.weight.requires_grad_(False)
            parametrize.register_parametrization(m, "weight", Chosen(m.weight, shared, method == "biprop"))
    net.train()
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1, momentum=0.9, weight_decay=1e-4)
    images, labels = torch.randint(0, 256, (8 * batch, *shape), dtype=torch.uint8), torch.randint(0, 10, (8 * batch,))
    total = sum(s.numel() for s in shared["scores"])

    def step():
        with torch.no_grad():
            all = torch.cat([s.abs().flatten() for s in shared["scores"]])
            shared["threshold"] = torch.kthvalue(all, int(SPARSITY * total)).values
        chosen = torch.randint(0, 8 * batch, (batch,))
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(images[chosen].float() / 255), labels[chosen]).backward()
        optimizer.step()

    return step, batch
