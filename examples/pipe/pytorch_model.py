"""A PyTorch model served to certspec. Put your own network and weights in place of these.

    certspec certify --exec "python examples/pipe/pytorch_model.py weights.pt" --data cifar10/test --skip 20 --sigma 0.25 --n 10000
"""
import sys

import torch
from torch import nn

from certspec_pipe import file_digest, serve

device = "cuda" if torch.cuda.is_available() else "cpu"
network = nn.Sequential(
    nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
)
network.load_state_dict(torch.load(sys.argv[1], map_location="cpu", weights_only=True))
network.eval().to(device)  # no dropout, and batch normalisation as it was learnt
mean = torch.tensor([0.4914, 0.4822, 0.4465], device=device).view(3, 1, 1)
std = torch.tensor([0.2470, 0.2435, 0.2616], device=device).view(3, 1, 1)


@torch.inference_mode()
def classify(images):
    x = torch.tensor(images, device=device).float() / 255
    return network((x - mean) / std).cpu().numpy()


serve(classify, height=32, width=32, channels=3, classes=10, layout="chw", name="pytorch", weights=file_digest(sys.argv[1]),
      preprocessing=f"(x - mean {mean.flatten().tolist()}) / std {std.flatten().tolist()}")
