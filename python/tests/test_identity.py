"""What identifies a model: it changes when anything that computes changes."""
from __future__ import annotations

import copy
import hashlib
import pathlib
import re
import unittest

import certspec
import numpy as np

from test_package import COLOURS, LABELS, Folder, certify

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")


def network():
    """A module with every kind of thing that computes."""
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(192, 4), nn.Linear(4, 3)
            self.third = nn.Linear(4, 3)
            self.norm = nn.BatchNorm1d(4)
            self.register_buffer("saved", torch.ones(4))
            self.register_buffer("unsaved", torch.ones(4), persistent=False)
            self.temperature, self.count, self.kind = 1.5, 2, "mean"
            self.bare = torch.ones(3)
            self.list = [torch.zeros(1), {"scale": 2.0, "array": np.ones(2)}]
            self.child = nn.Module()
            self.child.register_buffer("deep", torch.ones(1), persistent=False)

        def forward(self, x):
            x = self.norm(self.first(x.flatten(1))) * self.saved * self.unsaved
            return self.second(x) / self.temperature + self.bare

    torch.manual_seed(1)
    return Own().eval()


def changes():
    """Each part in turn."""
    def tensor(name):
        def change(m):
            *path, last = name.split(".")
            part = m.get_submodule(".".join(path))
            with torch.no_grad():
                getattr(part, last).view(-1)[0] += 1
        return change

    for name in ("first.weight", "first.bias", "norm.weight", "norm.running_mean", "norm.num_batches_tracked", "saved",
                 "unsaved", "child.deep", "bare"):
        yield name, tensor(name)
    yield "a name", lambda m: setattr(m, "another", m.__dict__["_modules"].pop("third"))
    yield "number", lambda m: setattr(m, "temperature", 2.5)
    yield "whole number", lambda m: setattr(m, "count", 3)
    yield "text", lambda m: setattr(m, "kind", "sum")
    yield "tensor of a list", lambda m: m.list[0].add_(1)
    yield "number of a dict", lambda m: m.list[1].update(scale=3.0)
    yield "array of a dict", lambda m: m.list[1]["array"].__setitem__(0, 2)
    yield "structure", lambda m: setattr(m, "norm", nn.Sequential(m.norm))
    yield "dtype", lambda m: m.double()
    yield "dtype of one", lambda m: setattr(m.second, "weight", nn.Parameter(m.second.weight.double()))
    yield "shape", lambda m: setattr(m, "bare", torch.ones(1, 3))


@needs_torch
class Digests(unittest.TestCase):
    def test_each_part_in_turn(self):
        own = network()
        base = certspec.state_digest(own)
        self.assertEqual(certspec.state_digest(copy.deepcopy(own)), base)
        self.assertEqual(certspec.state_digest(network()), base)
        seen = {base: "nothing"}
        for name, change in changes():
            other = copy.deepcopy(own)
            change(other)
            found = certspec.state_digest(other)
            self.assertNotIn(found, seen, f"{name}: as {seen.get(found)}")
            seen[found] = name
        self.assertEqual(len(seen), 21)

    def test_tied_parameters(self):
        tied, apart = network(), network()
        tied.third.weight = tied.second.weight
        with torch.no_grad():
            apart.third.weight.copy_(apart.second.weight)
        self.assertEqual(certspec.state_digest(tied).count(":"), 1)
        with torch.no_grad():
            tied.second.weight.add_(1)  # moves both
        self.assertNotEqual(certspec.state_digest(tied), certspec.state_digest(apart))
        with torch.no_grad():
            apart.second.weight.add_(1)  # moves one
        self.assertNotEqual(certspec.state_digest(tied), certspec.state_digest(apart))

    def test_what_does_not_compute(self):
        """Modes, places in memory, gradients and hooks are no part of it."""
        own = network()
        base = certspec.state_digest(own)
        own.train()
        own.first.weight.requires_grad_(False)
        own.register_forward_hook(lambda *_: None)
        own.first.weight.data = own.first.weight.data.clone()
        self.assertEqual(certspec.state_digest(own), base)

    def test_ledgers_of_before(self):
        """Of parts of PyTorch, all of whose buffers are saved, the digest is that of before."""
        def before(module):
            text = hashlib.sha256(repr(module).encode())
            for name, tensor in sorted(module.state_dict().items()):
                array = np.atleast_1d(tensor.numpy())
                text.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
            return "sha256:" + text.hexdigest()

        plain = nn.Sequential(nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 3))
        self.assertEqual(certspec.state_digest(plain), before(plain))
        own = network()
        self.assertNotEqual(certspec.state_digest(own), before(own))
        self.assertEqual(certspec.state_digest(own, persistent_only=True), before(own))


@needs_torch
class InLedgers(Folder):
    def test_another_buffer_gets_no_certificates(self):
        first, second = network(), network()
        with torch.no_grad():
            second.unsaved.zero_()
        certify(first, ledger="run.ledger", identity=certspec.state_digest(first))
        with self.assertRaisesRegex(certspec.CertspecError, "run.ledger"):
            certify(second, ledger="run.ledger", identity=certspec.state_digest(second))
        with self.assertRaises(certspec.CertspecError):
            certspec.attack(second, "run.ledger", COLOURS, LABELS, radii=[0.25], progress=False)

    def test_ledger_of_before_goes_on_where_it_is_said(self):
        own = network()
        old = certspec.state_digest(own, persistent_only=True)
        run = certify(own, ledger="run.ledger", identity=old)
        again = certify(own, ledger="run.ledger", identity=old)
        self.assertEqual(run, again)
        before = pathlib.Path("run.ledger").read_text()
        with self.assertWarnsRegex(UserWarning, "goes on under that identity"):  # also found where it is not said
            found = certify(own, ledger="run.ledger", identity=certspec.state_digest(own))
        self.assertEqual(found.weights.split(",")[0], old)
        self.assertEqual(pathlib.Path("run.ledger").read_text(), before)
        with self.assertWarnsRegex(UserWarning, "goes on under that identity"):
            certspec.attack(own, "run.ledger", COLOURS, LABELS, radii=[0.1], n=100, steps=1, progress=False)
        with torch.no_grad():
            own.first.weight.add_(1)
        with self.assertRaises(certspec.CertspecError):  # another model is found under no identity
            certify(own, ledger="run.ledger", identity=certspec.state_digest(own))

    def test_exported_file(self):
        """Of an ONNX file the bytes are the identity, and the entrance beside it."""
        plain = nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
        seen = set()
        for number in range(4):
            with torch.no_grad():
                plain[1].bias.add_(1.0 * (number == 1))
            path = certspec.export_onnx(plain, f"net{number}.onnx", shape=(8, 8, 3), mean=0.5 if number == 2 else None)
            more = {"std": 0.25} if number == 3 else {}
            try:
                seen.add(certify(path, progress=False, **more).weights)
            except certspec.CertspecError as error:
                self.skipTest(str(error))
        self.assertEqual(len(seen), 4)

    def test_pipe(self):
        """Identity, layout, batches, mean and std each change what a ledger says."""
        def model(x):
            return x.reshape(len(x), -1)[:, :3]

        base = {"identity": "mine"}
        found = [certify(model, **{**base, **more}).weights for more in (
            {}, {"identity": "other"}, {"layout": "hwc"}, {"mean": 0.5}, {"std": 0.5}, {"batch_size": 3},
            {"mean": [0.5, 0.4, 0.3]})]
        self.assertEqual(len(set(found)), 7, found)
        self.assertTrue(all(re.match("mine|other", text) for text in found))


if __name__ == "__main__":
    unittest.main()
