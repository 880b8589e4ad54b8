"""The functions that one types in a cell."""
from __future__ import annotations

import glob
import os
import re
import sys
import tempfile
import unittest
from statistics import NormalDist
from types import ModuleType, SimpleNamespace

import certspec
import numpy as np
from certspec import _figure

from test_package import COLOURS, LABELS, Folder, brightest, certify, needs_torch, png

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../../notebooks/models")


class Spectra(Folder):
    def test_against_numpy(self):
        """The mean of |F(x)| over images and channels, zero frequency in the middle."""
        images = np.random.default_rng(1).integers(0, 256, (5, 8, 8, 3), np.uint8)
        found = certspec.spectrum(images)
        want = np.fft.fftshift(np.abs(np.fft.fft2(images / 255, axes=(1, 2))).mean(axis=(0, 3)))
        np.testing.assert_allclose(found.values, want, rtol=1e-9)
        self.assertEqual((found.u[0], found.u[-1], found.v[4]), (-4, 3, 0))
        self.assertAlmostEqual(found.profile()[0].mean, want[4, 4], 9)
        other = certspec.spectrum(255 - images, data_name="negative")
        apart = other - found
        np.testing.assert_allclose(apart.values, other.values - found.values)
        self.assertAlmostEqual(apart.profile()[0].mean, other.values[4, 4] - want[4, 4], 9)  # the others are equal
        self.assertAlmostEqual(apart.profile()[2].mean, 0, 9)
        for figure in (certspec.plot(found, other), certspec.profile(found, other), apart.plot()):
            self.assertGreater(len(figure.axes), 0)
        self.assertIn("frequency", found.to_latex())
        with self.assertRaisesRegex(ValueError, "other frequencies"):
            found - certspec.spectrum(images[:, :6])
        with self.assertRaisesRegex(TypeError, "heatmap or spectrum"):
            certspec.profile(images)

    def test_folder_with_brackets(self):
        for name, colour in (("a", 0), ("b", 1)):
            os.makedirs(f"pics/{name}")
            with open(f"pics/{name}/one.png", "wb") as file:
                file.write(png(COLOURS[colour]))
        whole, some = certspec.spectrum("pics"), certspec.spectrum("pics[count=2]")
        np.testing.assert_array_equal(whole.values, some.values)
        self.assertEqual(repr(whole).split(": ")[1], "pics, 2 images")

    def test_intervals(self):
        """The middle 90 % of images by ring; of a difference, around the difference of the means."""
        random = np.random.default_rng(2)
        few, more = (random.integers(0, most, (20, 8, 8, 3), np.uint8) for most in (100, 256))
        a, b = certspec.spectrum(few, data_name="few"), certspec.spectrum(more, data_name="more")
        amplitude = np.fft.fftshift(np.abs(np.fft.fft2(few / 255, axes=(1, 2))).mean(axis=3), axes=(1, 2))
        far = np.rint(np.hypot(*np.meshgrid(range(-4, 4), range(-4, 4))))
        by_image = amplitude[:, far == 2].mean(axis=1)
        ring = a.profile()[2]
        self.assertAlmostEqual(ring.mean, by_image.mean(), 9)
        self.assertTrue(by_image.min() <= ring.interval.low < ring.mean < ring.interval.high <= by_image.max())
        for ring, one, other in zip((a - b).profile(), a.profile(), b.profile()):
            self.assertAlmostEqual(ring.mean, one.mean - other.mean, 9)
            self.assertAlmostEqual(sum(ring.interval) / 2, ring.mean, 9)
            self.assertLess(ring.interval.high, 0)  # every ring of the first is lower
        low, high = (a - b).plot().axes[0].get_ylim()
        self.assertTrue(low < (a - b).profile()[0].interval.low and high >= 0)
        axis = re.findall(r'<text x="36".*?>(.*?)</text>', _figure._svg([(a - b)._panel()], None))
        self.assertEqual((axis[0], axis[1][0]), ("0", "-"))  # without matplotlib, too

    def test_band(self):
        """Against NumPy's transform; what it returns is a data set with its labels."""
        images = np.random.default_rng(3).integers(0, 256, (6, 16, 16, 3), np.uint8)
        frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(16, 1 / 16), np.fft.fftfreq(16, 1 / 16)))
        spectrum = np.fft.fft2(images / 255, axes=(1, 2))
        for start, stop in ((0, 4), (4, 16)):
            away = (frequency < start) | (frequency >= stop)
            away[0, 0] = False
            left = np.where(away[None, :, :, None], 0, spectrum)
            want = np.rint(255 * np.fft.ifft2(left, axes=(1, 2)).real.clip(0, 1)).astype(int)
            found = certspec.band(images, start, stop, LABELS, data_name="noise")
            self.assertLessEqual(np.abs(found.pixels - want).max(), 1)
            self.assertGreater((found.pixels == want).mean(), 0.999)
        self.assertEqual(repr(found), "noise-4-16: 6 images, frequencies 4 to 16")
        run = certspec.certify(brightest, found, sigma=0.25, n=200, rule="fixed", progress=False)
        header = run.header["data"]["name"]
        self.assertTrue(header.startswith("npy:noise-4-16.npy"), header)
        self.assertEqual(run.columns()["label"].tolist(), LABELS.tolist())
        self.assertEqual(certspec.pictures(images, found, count=2).rows[1][0], "noise-4-16")
        with self.assertRaisesRegex(ValueError, "start < stop"):
            certspec.band(images, 4, 4)
        with self.assertRaisesRegex(certspec.CertspecError, "nowhere"):
            certspec.band("nowhere", 0, 4)

    def test_outliers(self):
        """One image has stripes of three periods."""
        images = np.random.default_rng(4).integers(100, 156, (12, 16, 16, 1), np.uint8)
        images[7] = np.rint(128 + 100 * np.cos(2 * np.pi * 3 * np.arange(16) / 16))[None, :, None]
        found = certspec.outliers(images, 2)
        self.assertEqual((len(found), found[0].image), (2, 7))
        self.assertGreater(abs(found[0].score), 3.5)
        np.testing.assert_array_equal(found.pictures.rows[0][1][0], np.repeat(images[7], 3, -1))
        self.assertEqual(found._repr_html_().count("<img"), 2)

    def test_heatmap(self):
        """A model that looks at the mean alone is right at all frequencies but 0."""
        wrong = certspec.heatmap(brightest, COLOURS // 8 + 100, LABELS, most=1, progress=False)
        self.assertEqual((wrong.u, wrong.v), ([-1, 0, 1], [-1, 0, 1]))
        self.assertEqual(wrong.values[0, 0], 0)
        self.assertGreaterEqual(wrong.values[1, 1], wrong.values[0, 0])
        radius = certspec.heatmap(brightest, COLOURS, LABELS, sigma=0.25, n=200, most=1, progress=False,
                                  options=["--rule=fixed"])
        self.assertGreater(radius.values[0, 0], 0.3)
        self.assertEqual(radius.what, "average certified radius")
        certspec.plot(wrong, radius)
        with self.assertRaisesRegex(ValueError, "one kind"):
            certspec.profile(wrong, radius)
        with self.assertRaisesRegex(ValueError, "most"):
            certspec.heatmap(brightest, COLOURS, LABELS, most=0)


class Methods(Folder):
    """Against what was computed of the same files by other code, before there was a function."""

    def setUp(self):
        super().setUp()
        self.files = os.path.join(HERE, "../../notebooks/results/experiments/A-scratch/results/A-c10-{}-s?.csv").format

    def test_main_pair(self):
        found = {}
        for cells in "clean", "C", "C-bar":
            ours, theirs = (certspec.starts(self.files(name), cells) for name in ("fm-hcr", "g-jsd"))
            self.assertEqual((ours.values.shape, len(theirs.starts)), ((4, 300), 4))
            found[cells] = certspec.paired(ours, theirs)
            self.assertAlmostEqual(found[cells].value, ours.values.mean() - theirs.values.mean(), 12)
        rows = certspec.verdicts(found)
        for row, (value, low, high, p) in zip(rows, ((-0.025, -0.041, -0.010, 0.008), (-0.015, -0.026, -0.004, 0.012),
                                                     (-0.019, -0.031, -0.007, 0.008))):
            got = row["difference"], *row["interval"], row["p_holm"]
            np.testing.assert_allclose(got, (value, low, high, p), atol=0.0006)
            self.assertEqual(row["verdict"], "lower")
        self.assertIn("Holm for these 3 claims", rows.to_markdown())
        self.assertIn("lower", rows.to_latex())

    def test_by_hand(self):
        for start, radii in enumerate(((0.5, "x", 0.25), (0.75, "a", 0.5)), 1):
            with open(f"ours-s{start}.csv", "w") as file:
                file.write("image,label,clean\n" + "".join(f"{n},1,{r}\n" for n, r in enumerate(radii)))
        found = certspec.starts("ours-s?.csv")
        np.testing.assert_array_equal(found.values, [[0.5, 0, 0.25], [0.75, 0, 0.5]])
        self.assertAlmostEqual(found.mean, 1 / 3)
        self.assertTrue(found.interval.low <= found.mean <= found.interval.high)
        self.assertEqual(certspec.starts("ours-s?.csv", what="ca 0.5").values.tolist(), [[1, 0, 0], [1, 0, 1]])

    def test_sweeps(self):
        certspec.sweep(brightest, COLOURS, LABELS, sigma=0.25, n=200, folder="swept", corrupt="contrast",
                       severity=[1], progress=False)
        found = certspec.starts("swept", "contrast")
        self.assertEqual((found.sets, found.values.shape), (["contrast-1"], (1, 6)))

    def test_wrong_use(self):
        one = certspec.starts(self.files("g-jsd"))
        for call, kind, words in (
                (lambda: certspec.starts("nowhere-?"), FileNotFoundError, "matches nothing"),
                (lambda: certspec.starts(self.files("g-jsd"), "snow"), certspec.CertspecError, "no set"),
                (lambda: certspec.starts(self.files("g-jsd"), what="loss"), certspec.UsageError, "what"),
                (lambda: certspec.paired(one, certspec.starts(self.files("g-jsd"), "C")), ValueError, "same"),
                (lambda: certspec.paired(one, [1]), TypeError, "starts"),
                (lambda: certspec.verdicts([1]), TypeError, "dict"),
                (lambda: certspec.verdicts({}), TypeError, "dict")):
            with self.assertRaisesRegex(kind, words):
                call()


class Results(Folder):
    """Every result shows itself as a table, and is saved by its ending."""

    def test_every_class(self):
        rows = set()  # of tables
        for file in glob.glob(os.path.join(os.path.dirname(certspec.__file__), "*.py")):
            with open(file, encoding="utf-8") as source:
                rows.update(re.findall(r"Table\[(\w+)\]", source.read()))
        pictures = {"Sheet", "Svg"}
        for name in set(certspec.__all__) - rows - pictures - {"Interval", "Filtered"}:
            thing = getattr(certspec, name)
            if isinstance(thing, type) and not issubclass(thing, Exception):
                for way in ("_repr_html_", "to_pandas", "to_latex", "to_csv", "save"):
                    self.assertTrue(hasattr(thing, way), f"{name}.{way}")
        for name in pictures:
            self.assertTrue(hasattr(getattr(certspec, name), "save"), name)

    def test_saved_by_ending(self):
        run = certify(keep_scores=True)
        for result in (run, certspec.half_space(0.9), certspec.calibration(run, [0, 0.1]), run.summary):
            for ending in ("tex", "csv", "md", "html", "txt", *(["svg", "pdf"] if hasattr(result, "plot") else [])):
                self.assertGreater(os.path.getsize(result.save("saved." + ending)), 20)
            with self.assertRaisesRegex(ValueError, "expected .tex"):
                result.save("saved.docx")
        self.assertEqual(run.to_csv().count("\n"), 7)  # a row for each image


class Tasks(Folder):
    def test_half_space(self):
        found = certspec.half_space(0.9)
        self.assertAlmostEqual(found.radius, NormalDist().inv_cdf(0.9))
        self.assertEqual(repr(found), "p = 0.9: the radius is 1.2816 σ")
        found.plot()
        for wrong, kind in ((0.5, ValueError), (1, ValueError), ("x", TypeError)):
            with self.assertRaisesRegex(kind, "^p is"):
                certspec.half_space(wrong)

    def test_votes(self):
        found = certspec.votes(brightest, COLOURS, 1, sigma=0.25, n=200, progress=False)
        self.assertEqual((found.predict, sum(found.counts)), (1, 200))
        bound = certspec.run("bound", f"--k={found.counts[1]}", "--n=200", "--sigma=0.25")
        self.assertIn(f"{found.radius:.6f}"[:6], bound)
        self.assertIn("p is at least", found._repr_html_())
        found.plot()
        self.assertEqual(certspec.votes(brightest, list(COLOURS), 2, sigma=0.25, progress=False).predict, 2)

    def test_reliability(self):
        run = certify(keep_scores=True)
        for radius in (0, 0.1):
            found = certspec.reliability(run, radius)
            self.assertEqual(sum(row["count"] for row in found), 6)
            self.assertIn(f"certified at radius {radius:g}", found.about)
            found.plot()
        confident = max(row["confidence"] or 0 for row in certspec.reliability(run, 0))
        worst = max(row["confidence"] or 0 for row in certspec.reliability(run, 0.1))
        self.assertLess(worst, confident)  # all are right, so that less confidence is worse
        with self.assertRaisesRegex(ValueError, "radius"):
            certspec.reliability(run, -1)

    def test_sets(self):
        images = np.concatenate([COLOURS] * 6)
        found = certspec.sets(brightest, images, np.concatenate([LABELS] * 6), sigma=0.25, radii=[0, 0.1], seed=1,
                              progress=False)
        self.assertEqual([one.radius for one in found], [0, 0.1])
        self.assertTrue(all(one.range.low <= one.coverage <= one.range.high for one in found))
        with self.assertRaisesRegex(ValueError, "miscoverage"):
            certspec.sets(brightest, images, sigma=0.25, miscoverage=1.5)

    def test_pictures(self):
        for number in range(3):
            os.makedirs(f"pics/{number}")
            with open(f"pics/{number}/one.png", "wb") as file:
                file.write(png(COLOURS[number]))
        sheet = certspec.pictures("pics", COLOURS, np.full((4, 8, 8), 9, np.uint8), count=3)
        self.assertEqual([len(images) for _, images in sheet.rows], [3, 3, 3])
        np.testing.assert_array_equal(sheet.rows[0][1], COLOURS[:3])
        np.testing.assert_array_equal(sheet.rows[1][1], COLOURS[:3])
        self.assertEqual(sheet._repr_html_().count("<img"), 9)
        with open(sheet.save("sheet.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        with self.assertRaisesRegex(ValueError, "expected .png"):
            sheet.save("sheet.pdf")

    @needs_torch
    def test_ood(self):
        """The bound of a linear network in a ball, against its corners; no attack exceeds it."""
        import torch

        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3))
        path = certspec.export_onnx(network, "net.onnx", shape=(8, 8, 3))
        foreign = np.random.default_rng(1).integers(0, 256, (4, 8, 8, 3), np.uint8)
        found = certspec.ood(path, COLOURS, foreign, epsilon=0.01, attacked=4, progress=False)
        values = {one.quantity: one.value for one in found}
        self.assertEqual(list(values), ["AUC", "AAUC", "GAUC"])
        self.assertTrue(values["GAUC"] <= values["AAUC"] <= values["AUC"], values)
        with torch.no_grad():
            own, other = (network(torch.from_numpy(images.transpose(0, 3, 1, 2) / 255).float()).softmax(1).amax(1)
                          for images in (COLOURS, foreign))
        above = (own[:, None] > other[None]).double().mean() + (own[:, None] == other[None]).double().mean() / 2
        self.assertAlmostEqual(values["AUC"], float(above), 6)

    def test_wrong_use(self):
        for call, kind, words in (
                (lambda: certspec.ood(brightest, COLOURS, COLOURS, epsilon=0.1), TypeError, "path of a file"),
                (lambda: certspec.train("x", COLOURS, sigma=0.25), TypeError, "name of a data set"),
                (lambda: certspec.train("x", "synthetic", sigma=0.25, epochs=0), ValueError, "epochs"),
                (lambda: certspec.paper("sun2021/table2", "nowhere"), FileNotFoundError, "nowhere"),
                (lambda: certspec.live(print, image=[]), ValueError, "image")):
            with self.assertRaisesRegex(kind, words):
                call()

    @needs_torch
    def test_fewer_images_than_are_attacked(self):
        import torch

        path = certspec.export_onnx(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3)), "net.onnx",
                                    shape=(8, 8, 3))
        found = certspec.ood(path, COLOURS, COLOURS[:2], epsilon=0.01, progress=False)
        self.assertEqual(len(found), 3)

    def test_live(self):
        """With what ipywidgets would be: a function of the values of the sliders."""
        seen = []
        module = ModuleType("ipywidgets")
        module.SelectionSlider = lambda **how: SimpleNamespace(**how)
        module.interactive = lambda shown, **moved: shown(**{k: s.options[0] for k, s in moved.items()}) or moved
        display = ModuleType("IPython.display")
        display.display = seen.append
        for name, new in (("ipywidgets", module), ("IPython", ModuleType("IPython")), ("IPython.display", display)):
            before = sys.modules.get(name)
            sys.modules[name] = new
            self.addCleanup(lambda name=name, before=before: sys.modules.update({name: before}) if before
                            else sys.modules.pop(name, None))
        moved = certspec.live(lambda image, sigma: image + sigma, image=[1, 2], sigma=[0.25, 0.5])
        self.assertEqual((seen, list(moved)), ([1.25], ["image", "sigma"]))


if __name__ == "__main__":
    unittest.main()
