"""Certify a classifier behind a diffusion model, on one image of the set that certspec brings.

Both have random weights: put yours in their place. The diffusion model is asked as those of
improved-diffusion: for 32x32 pixels in [-1, 1] and a step it gives six channels, the noise and its
variances. The classifier takes 64x64 pixels.
"""
import certspec
import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.step = nn.Conv2d(3, 32, 3, padding=1), nn.Linear(1, 32)
        self.last = nn.Conv2d(32, 6, 3, padding=1)

    def forward(self, x, t):
        return self.last(torch.relu(self.first(x) + self.step(t[:, None] / 1000)[..., None, None]))


torch.manual_seed(1)
batch = torch.export.Dim("batch")
torch.onnx.export(Diffusion().eval(), (torch.rand(2, 3, 32, 32), torch.tensor([3, 3])),
                  "denoiser.onnx", dynamo=True, dynamic_shapes=({0: batch}, {0: batch}))
classifier = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                           nn.Flatten(), nn.Linear(16, 10)).eval()
certspec.export_onnx(classifier, "classifier.onnx", shape=(64, 64, 3), mean=[0.5], std=[0.5])

print(certspec.run("join", "classifier.onnx", "--denoiser", "denoiser.onnx", "--diffusion",
                   "linear", "--sigma", "0.25", "--out", "joined.onnx"))
run = certspec.certify("joined.onnx", "synthetic/test[count=1]", sigma=0.25, n=1000,
                       ledger="joined.ledger")
print(run.table(), run.verify())
