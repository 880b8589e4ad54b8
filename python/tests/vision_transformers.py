"""Vision transformers: their votes are PyTorch's, and a processor says how images enter."""
from __future__ import annotations

import contextlib
import io
import os
import unittest

import certspec
import numpy as np

from test_package import Folder, png

try:
    import torch
    import transformers
    from torchvision.models import VisionTransformer
except ImportError:
    torch = None

IMAGES = np.random.default_rng(3).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
HOW = {"sigma": 0.5, "n": 200, "options": ["--seed", "7"], "progress": False}
MEAN, STD = [0.5, 0.25, 0.5], [0.5, 0.5, 0.25]


def small():
    """A transformer of random weights, whose votes are of several classes."""
    torch.manual_seed(2)
    net = VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10).eval()
    torch.nn.init.normal_(net.heads.head.weight)
    return net


def hugging():
    """The same of the library transformers, with its processor."""
    torch.manual_seed(4)
    net = transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, num_labels=10, initializer_range=0.5)).eval()
    torch.nn.init.normal_(net.classifier.weight)
    return net, transformers.ViTImageProcessor(size={"height": 32, "width": 32}, image_mean=MEAN,
                                               image_std=STD, resample=3)


@unittest.skipIf(torch is None, "PyTorch, torchvision or transformers is not installed")
class Transformers(Folder):
    def votes(self, net, **how):
        """How often PyTorch says each class of noise samples, by image; all are far from a tie."""
        counts, margins = [], []

        def asked(batch):
            with torch.no_grad():
                answer = net(torch.from_numpy(batch))
            rows = getattr(answer, "logits", answer).numpy()
            if len(rows) == 100:  # a block
                counts.append(np.bincount(rows.argmax(1), minlength=10))
                best = np.sort(rows, axis=1)
                margins.append((best[:, -1] - best[:, -2]).min())
            return rows

        found = certspec.predict(asked, IMAGES, **HOW, **how)
        counts = counts[-3 * HOW["n"] // 100:]  # those before were a look at the model
        self.assertGreater(min(margins), 1e-4)
        own = [one.counts for one in found]
        self.assertEqual(np.sum(own, 0).tolist(), np.sum(counts, 0).tolist())
        self.assertGreater(min(np.count_nonzero(one) for one in own), 2)
        return own

    def counted(self, model, **how):
        return [one.counts for one in certspec.predict(model, IMAGES, **HOW, **how)]

    def test_exported_and_live(self):
        net = small()
        votes = self.votes(net, mean=MEAN, std=STD)
        self.assertEqual(self.counted(net, mean=MEAN, std=STD), votes)
        certspec.export_onnx(net, "dynamo.onnx", shape=(32, 32, 3), mean=MEAN, std=STD)
        self.assertEqual(self.counted("dynamo.onnx"), votes)
        torch.onnx.export(net, (torch.zeros(2, 3, 32, 32),), "script.onnx", dynamo=False,
                          input_names=["image"], dynamic_axes={"image": {0: "batch"}})
        self.assertEqual(self.counted("script.onnx", mean=MEAN, std=STD), votes)

    def test_processor(self):
        net, processor = hugging()
        votes = self.votes(net, mean=MEAN, std=STD)
        pipe = transformers.pipeline("image-classification", model=net, image_processor=processor)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(self.counted(net, processor=processor), votes)
            self.assertEqual(self.counted(pipe), votes)
        self.assertIn(f"mean {MEAN} and std {STD}", said.getvalue())
        certspec.export_onnx(net, "net.onnx", shape=(32, 32, 3))
        self.assertEqual(self.counted("net.onnx", processor=processor), votes)
        run = certspec.certify(pipe, IMAGES, sigma=0.5, n=100, ledger="a.ledger", progress=False,
                               identity=certspec.state_digest(net))
        self.assertIn(f"mean {MEAN}, std {STD}", run.weights)
        self.assertTrue(certspec.replay(pipe, run, IMAGES).equal)
        net.image_processor = processor
        self.assertEqual(self.counted(net), votes)

    def test_pictures_enter_as_the_processor_says(self):
        """Resizing by torchvision and by Pillow's rules differ by a step of 8 bits here and there."""
        net, processor = hugging()
        pixels = np.kron(IMAGES, np.ones((1, 2, 2, 1), np.uint8))[:, :, :50]
        for number, image in enumerate(pixels):
            os.makedirs(f"pics/{number}")
            with open(f"pics/{number}/one.png", "wb") as file:
                file.write(png(image))
        entered, said = [], io.StringIO()
        net.register_forward_pre_hook(lambda _, given: entered.append(given[0].clone()))
        with contextlib.redirect_stderr(said):
            certspec.evaluate(net, "pics", processor=processor)
        self.assertIn("[resize=32x32,filter=bicubic,channels=rgb] is that of the", said.getvalue())
        own = processor(list(pixels), return_tensors="pt")["pixel_values"]
        apart = (entered[-1][:3] - own).abs() * torch.tensor(STD).view(3, 1, 1) * 255
        self.assertLess(apart.max(), 2.01)
        self.assertLess(apart.mean(), 0.1)

    def test_size(self):
        net, processor = hugging()
        with self.assertRaisesRegex(ValueError, "images of 8×8, and the processor makes 32×32"):
            certspec.predict(net, IMAGES[:, :8, :8], sigma=0.5, processor=processor)
        processor.rescale_factor = 1 / 127.5
        with self.assertRaisesRegex(ValueError, "multiplies bytes by 0.0078"):
            certspec.predict(net, IMAGES, sigma=0.5, processor=processor)
