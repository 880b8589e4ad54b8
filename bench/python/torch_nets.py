"""The nets of gomlxmodels/nets in PyTorch: same layers, random weights."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, depth, classes=10):
        super().__init__()
        layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        inputs = 16
        for width, stride in ((16, 1), (32, 2), (64, 2)):
            for i in range((depth - 2) // 6):
                layers.append(Block(inputs, width, stride if i == 0 else 1))
                inputs = width
        self.features = nn.Sequential(*layers)
        self.linear = nn.Linear(64, classes)

    def forward(self, x):
        return self.linear(self.features(x).mean((2, 3)))


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        layers, inputs = [], 1
        for outputs, stride in ((16, 1), (32, 2), (64, 2)):
            layers += [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
            inputs = outputs
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(7 * 7 * 64, classes))

    def forward(self, x):
        return self.layers(x)


def build(name):
    """The net and its input shape (channels, height, width)."""
    torch.manual_seed(1)
    if name.startswith("resnet"):
        return ResNet(int(name.removeprefix("resnet"))), (3, 32, 32)
    if name == "small-cnn":
        return SmallCNN(), (1, 28, 28)
    raise ValueError(f"no net {name!r}")
