"""What a figure shows of claims: nothing above what is proven, or below what an attack leaves."""
from __future__ import annotations

import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree
from typing import NamedTuple

import certspec
import numpy as np
from certspec import _figure
from certspec._figure import Curve

from test_package import certify

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "../../notebooks/results")


class Claims(NamedTuple):
    """A proof and an attack at some radii, in any order."""
    radii: list
    proven: list
    left: list

    def proof(self, x):
        """What is proven at x: the value at the next larger radius, and nothing beyond the last."""
        return next((p for r, p in sorted(zip(self.radii, self.proven)) if r >= x), 0.0)

    def attack(self, x):
        """What the attack leaves at x: the value at the next smaller radius; all before the first."""
        return next((p for r, p in sorted(zip(self.radii, self.left), reverse=True) if r <= x), 1.0)


def drawn(random):
    count = random.integers(1, 8)
    radii = np.round(random.choice(60, count, replace=False) / 20, 3)
    order = random.permutation(count)
    proven = np.sort(random.random(count))[::-1] * 0.8
    left = np.maximum(np.sort(random.random(count))[::-1], proven)
    radii = np.sort(radii)
    left = np.minimum.accumulate(left)
    return Claims(*(values[order].tolist() for values in (radii, proven, np.maximum(left, proven))))


def at(xs, ys, x):
    """All that a line through points shows at x."""
    found = []
    for (x0, y0), (x1, y1) in zip(zip(xs, ys), zip(xs[1:], ys[1:])):
        if x0 == x1 == x:
            found += [y0, y1]
        elif x0 <= x <= x1:
            found.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return found


def lines_of(figure, without):
    """The lines, points and areas that are on a page, by matplotlib or in SVG."""
    if not without:
        axes = figure.axes[0]
        lines = [(line.get_label(), *map(list, line.get_data()), line.get_linestyle() != "None")
                 for line in axes.lines]
        areas = [(area.get_label(), *path.vertices.T.tolist()) for area in axes.collections
                 for path in area.get_paths()]
        return lines, areas
    raise NotImplementedError


class Soundness(unittest.TestCase):
    def setUp(self):
        try:
            import matplotlib
        except ImportError:
            self.fail("this test needs matplotlib")
        matplotlib.use("agg")

    def check(self, claims, figure):
        lines, areas = lines_of(figure, False)
        places = sorted({0.0, *claims.radii, *np.linspace(0, 3.2, 65)})
        for label, xs, ys, joined in lines:
            self.assertTrue(joined, label)
            for x in places:
                for y in at(xs, ys, x):
                    if label == "certified":
                        self.assertLessEqual(y, claims.proof(x) + 1e-12, (label, x))
                    else:
                        self.assertGreaterEqual(y, claims.attack(x) - 1e-12, (label, x))
        for label, xs, ys in areas:
            for x, y in zip(xs, ys):
                self.assertGreaterEqual(y, min(claims.proof(x), claims.proof(x + 1e-9)) - 1e-12)

    def test_attack(self):
        for seed in range(60):
            claims = drawn(np.random.default_rng(seed))
            table = certspec.Attacked(
                certspec.UnderAttack(r, p, e, 0, 0, 20) for r, p, e in zip(*claims))
            self.check(claims, table.plot())

    def test_the_case_of_before(self):
        """At 0.7, above the cap 0.656, a straight line between three radii drew 0.13."""
        table = certspec.Attacked([certspec.UnderAttack(.25, .75, .85, 3, 1, 20),
                                   certspec.UnderAttack(.5, .65, .75, 5, 0, 20),
                                   certspec.UnderAttack(.75, 0., .7, 6, 1, 20)])
        lines, _ = lines_of(table.plot(), False)
        left, certified = ((xs, ys) for _, xs, ys, _ in lines)
        self.assertEqual([at(*certified, x) for x in (0.1, 0.3, 0.7)], [[0.75], [0.65], [0]])
        self.assertEqual([at(*left, x) for x in (0.1, 0.3, 0.7)], [[], [0.85], [0.75]])

    def test_calibration_is_points(self):
        """Between two radii other images are certified: nothing is said of them."""
        for seed in range(10):
            claims = drawn(np.random.default_rng(seed))
            table = certspec.Calibrations(
                certspec.Calibration(r, 9, 1, p, 0, e, 0, 0) for r, p, e in zip(*claims))
            lines, _ = lines_of(table.plot(), False)
            self.assertEqual([joined for *_, joined in lines], [False, False])
            self.assertEqual(set(zip(*lines[0][1:3])), set(zip(claims.radii, claims.left)))

    def test_ledger(self):
        """Every step of the committed ledger, the band included."""
        run = certspec.Ledger(os.path.join(RESULTS, "quickstart.ledger"))
        lines, areas = lines_of(run.plot(), False)
        radii, accuracies = zip(*run.curve())
        claims = Claims(list(radii), list(accuracies), [1.0] * len(radii))
        (_, xs, ys, joined), = lines
        self.assertTrue(joined)
        for x in np.linspace(0, 1, 301):
            for y in at(xs, ys, x):
                self.assertLessEqual(y, claims.proof(x) + 1e-12)

    def test_every_curve_over_a_radius_says_what_holds(self):
        """A panel over a radius has no line that is joined between its places."""
        seen = []
        before = _figure.draw
        for module in ("_results", "_front"):
            module = sys.modules[f"certspec.{module}"]
            self.addCleanup(setattr, module, "draw", module.draw)
            module.draw = lambda panels, *rest: seen.extend(panels) or before(panels, *rest)
        certspec.Ledger(os.path.join(RESULTS, "quickstart.ledger")).plot()
        certspec.Attacked([certspec.UnderAttack(.25, .75, .85, 3, 1, 20)]).plot()
        certspec.Calibrations([certspec.Calibration(.25, 9, 1, .1, 0, .2, 0, 0)]).plot()
        self.assertEqual(len(seen), 3)
        for panel in seen:
            self.assertTrue(panel.x.startswith("radius"))
            for curve in panel.curves:
                self.assertTrue(curve.holds != "joined" or not curve.y, curve.label)


class InSvg(unittest.TestCase):
    def test_no_oblique_line(self):
        """Steps and points alone, without matplotlib as with it."""
        modules = {name: sys.modules.get(name) for name in ("matplotlib", "matplotlib.pyplot")}
        for name in modules:
            sys.modules[name] = None
            self.addCleanup(lambda name=name, old=modules[name]: sys.modules.update({name: old})
                            if old else sys.modules.pop(name))

        def oblique(figure):
            count = 0
            for line in tree.fromstring(figure).iter("{http://www.w3.org/2000/svg}polyline"):
                points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
                count += sum(a[0] != b[0] and a[1] != b[1] for a, b in zip(points, points[1:]))
            return count

        run = certspec.Ledger(os.path.join(RESULTS, "quickstart.ledger"))
        attacked = certspec.Attacked([certspec.UnderAttack(.25, .75, .85, 3, 1, 20),
                                      certspec.UnderAttack(.5, .65, .75, 5, 0, 20)])
        table = certspec.Calibrations([certspec.Calibration(.25, 9, 1, .1, 0, .2, 0, 0),
                                       certspec.Calibration(.5, 9, 1, .2, 0, .3, 0, 0)])
        for one in (run, attacked, table):
            self.assertEqual(oblique(one.plot()), 0)
        panel = table._panel()._replace(curves=[Curve("", [0.1, 0.5], [0.1, 0.2])])
        self.assertEqual(oblique(_figure.draw([panel])), 1)  # so that the count sees it

        with tempfile.TemporaryDirectory() as folder:
            for figure in (run.plot(), attacked.plot()):
                path = figure.save(os.path.join(folder, "curve.svg"))
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), figure)
            for ending, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG")):  # which the program draws
                path = certspec.plot(run, run, labels=["a, b", "c"], title="Mine").save(
                    os.path.join(folder, "curve." + ending))
                with open(path, "rb") as file:
                    self.assertTrue(file.read(8).startswith(magic))
            with self.assertRaisesRegex(ImportError, r"certspec\[plot\]"):
                attacked.plot(out=os.path.join(folder, "attack.png"))
            with self.assertRaisesRegex(ValueError, "expected .svg, .png or .pdf"):
                run.plot(out=os.path.join(folder, "curve.xyz"))


class Several(unittest.TestCase):
    """Runs in common axes: colours, names and limits of their own."""

    def setUp(self):
        from matplotlib import pyplot

        self.pyplot = pyplot
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.runs = [certify(sigma=sigma, ledger=os.path.join(place.name, name + ".ledger"))
                     for sigma, name in ((0.25, "near"), (0.5, "far"))]

    def test_in_axes_of_the_caller(self):
        axes = self.pyplot.figure().subplots()
        for run in self.runs:
            run.plot(axes)
        self.assertEqual([line.get_color() for line in axes.lines], list(_figure.COLOURS[:2]))
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(names, ["near", "far"])
        self.assertGreaterEqual(axes.get_xlim()[1], self.runs[1].summary.radius_cap)
        self.assertEqual(axes.get_xlim()[0], 0)
        other = self.pyplot.figure().subplots()
        self.runs[0].plot(other, label="mine")
        self.assertEqual(other.get_legend().get_texts()[0].get_text(), "mine")
        other.set_xlim(0, 0.5)
        self.runs[1].plot(other)
        self.assertEqual(other.get_xlim(), (0, 0.5))  # what the caller has set stays
        self.pyplot.close("all")

    def test_as_one_figure(self):
        for figure in (certspec.plot(self.runs), certspec.plot(*self.runs)):
            names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
            self.assertEqual(names, ["near", "far"])
            self.assertIn("6 images, brightest, n ≤ 500, α = 0.001", figure.axes[0].get_title())
            self.assertNotIn("σ", figure.axes[0].get_title())  # it differs
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "curve.")
            for ending, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
                figure = certspec.plot(*self.runs, title="Mine", labels=["a", "b"], columns=1, out=out + ending)
                with open(out + ending, "rb") as file:
                    self.assertTrue(file.read(8).startswith(magic))
            self.assertEqual(figure.get_figwidth(), 3.25)
            self.assertTrue(figure.axes[0].get_title().startswith("Mine\n"))
            self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()], ["a", "b"])
            with self.assertRaisesRegex(ValueError, "expected .svg, .png or .pdf"):
                certspec.plot(*self.runs, out=out + "xyz")
            self.assertFalse(os.path.exists(out + "xyz"))
        for wrong, kind, words in (((), ValueError, "results"), (([1],), TypeError, "a result is a int")):
            with self.assertRaisesRegex(kind, words):
                certspec.plot(*wrong)
        for more, words in (({"labels": ["a"]}, "labels"), ({"columns": 3}, "columns")):
            with self.assertRaisesRegex(ValueError, words):
                certspec.plot(*self.runs, **more)
        self.assertEqual(self.pyplot.get_fignums(), [])

    def test_sweep(self):
        swept = certspec.Sweep(os.path.join(RESULTS, "cifar10-resnet20-s025-C"))
        figure = certspec.plot(swept)
        self.assertEqual([axes.get_title().split("\n")[0] for axes in figure.axes],
                         ["Average certified radius by corruption", "Average certified radius by severity"])
        fog = next(line for line in figure.axes[1].lines if line.get_label() == "fog")
        self.assertEqual(list(fog.get_xdata()), [1, 3, 5])
        for x, y in zip(*fog.get_data()):
            self.assertAlmostEqual(y, swept[f"fog-{x:.0f}"].acr, 12)

    def test_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            for ending, words in (("tex", "near & 6 & 0"), ("csv", "near,6,0"),
                                  ("md", "| near | 6 |"), ("html", "<td>6</td>"), ("txt", "far ")):
                rows = certspec.table(self.runs, radii=[0.75], out=os.path.join(folder, "t." + ending))
                with open(os.path.join(folder, "t." + ending)) as file:
                    self.assertIn(words, file.read())
            self.assertEqual([row["r = 0.75"] for row in rows], [0, 1])
            with self.assertRaisesRegex(ValueError, "no form for a table"):
                certspec.table(self.runs, out=os.path.join(folder, "t.xyz"))
        compared = certspec.compare(*self.runs, 0.5)
        self.assertIn("Holm", compared._repr_html_())
        self.assertIn("p_holm", compared.to_csv())
        self.assertEqual(certspec.table(compared)[1]["difference"], compared.certified_accuracy[0].difference)
        self.assertTrue(0 <= compared.certified_accuracy[0].p_holm <= 1)


if __name__ == "__main__":
    unittest.main()
