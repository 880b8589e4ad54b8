"""The fourteen cells that a person types, on a network and pictures that are small."""
from __future__ import annotations

import ast
import os
import unittest

import certspec
import numpy as np

from test_package import Folder, needs_torch, png, torch

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../notebooks/results")

#: As a person types them, without "import certspec".
CELLS = '''
net, pics = "net.onnx", "pics"
run = certspec.certify(net, pics, sigma=0.25)
run

certspec.plot(run, title="My network on my pictures", columns=1, out="curve.pdf")
certspec.table(run, out="table.tex")

loud = certspec.certify(net, pics, sigma=0.5)
certspec.compare(run, loud, [0, 0.25, 0.5])

swept = certspec.sweep(net, pics, sigma=0.25, n=1000, corrupt="C")
certspec.plot(swept)
certspec.table(swept, out="corruptions.tex")

wrong = certspec.heatmap(net, pics)
radius = certspec.heatmap(net, pics, sigma=0.25, n=1000)
certspec.plot(wrong, radius)
certspec.profile(radius)

a, b = certspec.spectrum("pics[only=cat]"), certspec.spectrum("pics[only=dog]")
certspec.profile(a, b)
a - b
certspec.outliers("pics[only=cat]", 6)

coarse, fine = certspec.band(pics, 0, 4), certspec.band(pics, 4, 16)
certspec.pictures(pics, coarse, fine, count=6)
certspec.plot(run, certspec.certify(net, coarse, sigma=0.25))

scored = certspec.certify(net, pics, sigma=0.25, keep_scores=True)
certspec.calibration(scored, [0, 0.1, 0.25, 0.5])
certspec.reliability(scored, 0.25)

certspec.sets(net, pics, sigma=0.25, miscoverage=0.1, radii=[0, 0.25, 0.5])

certspec.ood(net, pics, "mnist/test[count=200]", epsilon=0.01)

small = certspec.train("out/small", "cifar10/train[count=5000]", net="small-cnn",
                       sigma=0.25, method="hcr", views="fouriermix", epochs=3)
certspec.certify(small, "cifar10/test[count=100]", sigma=0.25, n=1000)

found = {}
for cells in "clean", "C", "C-bar":
    a = certspec.starts("results/experiments/A-scratch/results/A-c10-fm-hcr-s?.csv", cells)
    b = certspec.starts("results/experiments/A-scratch/results/A-c10-g-jsd-s?.csv", cells)
    found["FourierMix+HCR − Gaussian+JSD, " + cells] = certspec.paired(a, b)
certspec.verdicts(found)

certspec.half_space(0.9)
certspec.live(lambda image, sigma: certspec.votes(net, pics, int(image), sigma=sigma, n=1000),
              image=[0, 1, 2, 3, 4], sigma=[0.1, 0.25, 0.5, 1])

certspec.paper("sun2021/table2", "results/experiments/A", out="table2.tex")
'''.strip().split("\n\n")

#: What is not on every machine, or takes long: sets that are built in, and fewer noise samples.
FAST = {"mnist/test[count=200]": "synthetic/test[count=4]", "cifar10/train[count=5000]": "synthetic/train[count=128]",
        "cifar10/test[count=100]": "synthetic/test[count=4]", "n=1000": "n=100", "epochs=3": "epochs=1",
        "sigma=0.25)": "sigma=0.25, n=1000)"}
SAVED = "curve.pdf", "table.tex", "corruptions.tex", "table2.tex"


def shown(value):
    """Whether a notebook shows a value as more than text."""
    return any(hasattr(value, name) for name in ("_repr_html_", "_repr_svg_", "savefig", "_repr_mimebundle_"))


class Cells(Folder):
    @needs_torch
    def test_fourteen(self):
        random = np.random.default_rng(1)
        for number in range(12):
            folder = f"pics/{'cat' if number % 2 else 'dog'}"
            os.makedirs(folder, exist_ok=True)
            pixels = random.integers(0, 100, (32, 32, 3), np.uint8)
            pixels[:, :, number % 2] += 100
            with open(f"{folder}/{number}.png", "wb") as file:
                file.write(png(pixels))
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(48, 2))
        certspec.export_onnx(network, "net.onnx", shape=(32, 32, 3))
        os.symlink(RESULTS, "results")
        names = {"certspec": certspec}
        for number, cell in enumerate(CELLS, 1):
            for typed, fast in FAST.items():
                cell = cell.replace(typed, fast)
            with self.subTest(cell=number):
                for part in ast.parse(cell).body:
                    code = ast.unparse(part)
                    if isinstance(part, ast.Expr):
                        self.assertTrue(shown(eval(code, names)), code)
                    else:
                        exec(code, names)
        self.assertEqual(len(CELLS), 14)
        for file in SAVED:
            self.assertGreater(os.path.getsize(file), 100, file)


if __name__ == "__main__":
    unittest.main()
