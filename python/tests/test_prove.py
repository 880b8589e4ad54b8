"""A proof at every strength: what it counts, and what it refuses."""
from __future__ import annotations

import unittest

import certspec
import numpy as np

from test_package import Folder


def grey(level):
    return np.full((1, 4, 4, 3), level, np.uint8)


def bright(images):
    """Class 1 from 100 levels on, but class 0 at 107 levels alone."""
    level = np.rint(np.asarray(images).mean((1, 2, 3)) * 255)
    return np.stack([np.zeros(len(level)), (level - 99.5) * (level != 107) - .5 * (level == 107)], 1)


class Proves(Folder):
    def prove(self, images, labels=None, **given):
        return certspec.prove(bright, images, labels, image_layout="hwc", layout="hwc", progress=False,
                              **{"over": "brightness=-8:8", **given})

    def test_one_level_between_five(self):
        images = np.concatenate([grey(103), grey(120), grey(50), grey(101)])
        found = self.prove(images, [1, 1, 1, 1], out="a.strength", identity="mine")
        self.assertEqual((found.images, found.right, found.proven, found.robust), (4, 3, 2, 1))
        # five levels, -8, -4, 0, 4 and 8, see 107 from 103 and from neither 120 nor 50
        self.assertEqual((found.spaced_same, found.spaced_wrong), (1, 0))
        self.assertEqual(found.lines[0]["flip"], {"theta": "4", "class": 0})
        self.assertEqual((found.lines[0]["from"], found.lines[0]["to"]), ("-3", "3"))
        self.assertEqual(found.lines[3]["flip"]["theta"], "-2")
        self.assertEqual(self.prove(images, [1, 1, 1, 1], out="a.strength", identity="mine"), found)

    def test_wrong_ones(self):
        for given, kind, words in (
                ({"over": 5}, TypeError, "over"), ({"over": "jpeg=0:10"}, certspec.CertspecError, "1 to 100"),
                ({"over": "fog=1:2"}, certspec.CertspecError, "brightness"),
                ({"spaced": 1}, ValueError, "spaced"), ({"spaced": 2.5}, ValueError, "spaced")):
            with self.assertRaisesRegex(kind, words):
                self.prove(grey(120), **given)

    def test_noise_with_grey(self):
        run = certspec.certify(bright, grey(180), [1], sigma=0.25, n=200, rule="fixed", layout="hwc",
                               image_layout="hwc", noise="spectrum:grey@0=0.05", identity="mine",
                               ledger="a.ledger", progress=False)
        self.assertEqual(run.header["noise"], "spectrum/1:grey@0=0.05")
        self.assertTrue(certspec.replay(bright, run, grey(180), [1], progress=False).equal)


if __name__ == "__main__":
    unittest.main()
