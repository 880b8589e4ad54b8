"""What is typed wrongly: readable signatures, errors in the words of Python, remedies that work."""
from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import os
import pathlib
import re
import sys
import unittest
import warnings
from types import SimpleNamespace

import certspec
import numpy as np
from certspec._program import python_words

from test_package import COLOURS, LABELS, Folder, brightest, certify

try:
    import torch
except ImportError:
    torch = None


def public():
    """Every function, and every method of a class, that a user can name."""
    for name in certspec.__all__:
        thing = getattr(certspec, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            yield from ((f"{name}.{key}", call) for key, call in vars(thing).items()
                        if inspect.isfunction(call) and not key.startswith("_"))


class Signatures(unittest.TestCase):
    def test_every_public_name(self):
        for name, call in public():
            text = str(inspect.signature(call))
            self.assertNotRegex(text, r"ForwardRef|typing\.|'[A-Za-z]+\[|: '| -> '", name)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 100, name)
            self.assertTrue((inspect.getdoc(call) or "").strip(), f"{name} has no docstring")

    def test_defaults_are_those_of_the_program(self):
        found = inspect.signature(certspec.certify).parameters
        for words in ("alpha: float = 0.001", "rule: str = 'staged'", "noise: str = 'grid'", "n: int = 10000",
                      "sigma: float", "layout: str = 'chw'"):
            self.assertEqual(str(found[words.split(":")[0]]), words)
        said = certspec.run("certify", "--help")
        for words in ("false (default 0.001)", "(default staged)", "(default grid) --block"):
            self.assertIn(words, re.sub(r"\s+", " ", said))

    def test_help_fits_a_screen(self):
        with contextlib.redirect_stdout(io.StringIO()) as page:
            help(certspec.certify)
        lines = page.getvalue().splitlines()
        self.assertLessEqual(max(map(len, lines)), 104)
        self.assertLessEqual(len(lines), 60)
        arguments = inspect.signature(certspec.certify).parameters
        for name in set(arguments) - {"model", "images", "labels"}:
            self.assertRegex(page.getvalue() + certspec.__doc__, rf"(?m)\b{name}\b.*\S")


class WrongValues(Folder):
    def test_named_and_kind(self):
        """Each value that cannot be: a ValueError or TypeError that begins with its argument."""
        for more, kind in (
                ({"alpha": 2}, ValueError), ({"alpha": 0}, ValueError), ({"alpha": "small"}, TypeError),
                ({"n": 0}, ValueError), ({"n": True}, TypeError), ({"rule": "adaptive"}, ValueError),
                ({"rule": 3}, ValueError), ({"noise": "uniform"}, ValueError), ({"block": 0}, ValueError),
                ({"n0": -1}, ValueError), ({"seed": -1}, ValueError), ({"workers": 0}, ValueError),
                ({"relative": 1}, TypeError), ({"futility": 3}, ValueError), ({"tolerance": "x"}, TypeError),
                ({"sigma": None}, TypeError), ({"keep_scores": 0}, ValueError), ({"radii": [None]}, TypeError),
                ({"layout": "nchw"}, ValueError), ({"mean": "x"}, TypeError), ({"batch_size": 0}, ValueError)):
            name, = more
            with self.assertRaisesRegex(kind, f"^{name} ", msg=str(more)):
                certify(**{"rule": "iss" if name == "tolerance" else "fixed", **more})

    def test_what_the_program_finds(self):
        """It knows what goes together; its sentence has the names of the arguments, and no flag."""
        for more, words in (
                ({"n": 50}, r"\bn\b.*50"), ({"n": 123}, r"\bn\b"), ({"rule": "betting", "radii": [9.0]}, "radii"),
                ({"rule": "anytime", "budget": "soon"}, "budget"), ({"rule": "fixed", "tolerance": 0.1}, "tolerance"),
                ({"keep_scores": 5000}, "keep_scores"), ({"rule": "anytime", "until": "radius=x"}, "until")):
            with self.assertRaisesRegex(ValueError, words) as caught:
                certify(**more)
            self.assertNotRegex(str(caught.exception), r"(?<!\w)--[a-z]", more)
            self.assertIsInstance(caught.exception, certspec.CertspecError)
        self.assertEqual(python_words("give --keep-scores=9, see certspec certify --help", ["--keep-scores=9"]),
                         "give keep_scores=9, see certspec.certify --help")

    def test_files_that_are_missing(self):
        run = certify(ledger="run.ledger", identity="mine")
        for call in (lambda: certspec.Ledger("/nope"), lambda: certspec.Log("none.tsv"),
                     lambda: certspec.read_ledger("/nope"), lambda: certspec.report("/nope"),
                     lambda: certspec.from_smoothing_log("/nope"), lambda: certspec.Sweep("/nope"),
                     lambda: certspec.compare(run, "/nope"), lambda: certspec.calibration("/nope", 0),
                     lambda: certspec.replay(brightest, "/nope", COLOURS, LABELS),
                     lambda: certify("none.onnx"), lambda: certify("models/none")):
            with self.assertRaisesRegex(FileNotFoundError, "nope|none"):
                call()
        os.mkdir("swept")
        with self.assertRaisesRegex(IsADirectoryError, "Sweep"):
            certspec.Ledger("swept")

    def test_one_radius_or_several(self):
        run = certify()
        self.assertEqual(run.certified_accuracy(0.25), 1.0)
        self.assertIsInstance(run.certified_accuracy(np.float32(0.25)), float)
        self.assertEqual(run.certified_accuracy([0.25, 9]), [1, 0])
        self.assertEqual(run.certified_accuracy(np.array([0.25])), [1])
        for wrong, kind in ((-1, ValueError), ("far", TypeError), ([], ValueError), (float("nan"), ValueError)):
            with self.assertRaisesRegex(kind, "radii"):
                run.certified_accuracy(wrong)


class Results(Folder):
    def test_equal_by_content(self):
        first, second = (certify(ledger=f"{name}.ledger", identity="mine") for name in "ab")
        other = certify(ledger="c.ledger", identity="mine", sigma=0.5)
        self.assertEqual(first, second)
        self.assertEqual(len({first, second, other}), 2)
        self.assertNotEqual(first, other)
        self.assertNotEqual(first, "a.ledger")
        self.assertEqual(len(first), 6)
        self.assertEqual(len(first), len(first.rows()))

    def test_tables_have_the_keys_of_their_rows(self):
        run = certify(identity="mine")
        rows = run.rows()
        heads = re.findall(r"<th[^>]*>([^<]*)</th>", rows._repr_html_())
        self.assertEqual(heads, list(rows[0]))
        self.assertEqual(str(rows).split("\n")[0].split(), list(rows[0]))
        found = certspec.predict(brightest, COLOURS, sigma=0.25, n=200, progress=False)
        for head in re.findall(r"<th[^>]*>([^<]*)</th>", found._repr_html_()):
            self.assertTrue(hasattr(found[0], head), head)

    def test_every_result_in_every_form(self):
        """In a notebook, in pandas, in LaTeX, and in a file by its ending."""
        made = []

        class DataFrame(list):
            def __init__(self, data):
                super().__init__(data)
                made.append(self)

        pandas = sys.modules.get("pandas")
        sys.modules["pandas"] = SimpleNamespace(DataFrame=DataFrame)
        self.addCleanup(lambda: sys.modules.update(pandas=pandas) if pandas else sys.modules.pop("pandas"))
        run = certify(ledger="run.ledger", identity="mine", keep_scores=True)
        rows = np.array([[0.9, 0.1], [0.4, 0.6]])
        results = {
            "run": run, "table": run.table(), "summary": run.summary, "compared": certspec.compare(run, run),
            "calibration": certspec.calibration(run, [0, 0.25]), "metrics": certspec.metrics(rows, [0, 1]),
            "replayed": certspec.replay(brightest, run, COLOURS, LABELS, progress=False),
            "predicted": certspec.predict(brightest, COLOURS, sigma=0.25, n=200, progress=False),
            "evaluated": certspec.evaluate(brightest, COLOURS, LABELS, progress=False),
            "checks": certspec.preflight(brightest, COLOURS, LABELS, sigma=0.25, progress=False)}
        for name, result in results.items():
            self.assertIn("<t", result._repr_html_(), name)
            self.assertIn(r"\begin{tabular}", result.to_latex(), name)
            result.to_pandas()
            self.assertGreater(len(made[-1]), 0, name)
            if name == "run":
                continue
            for ending in ("tex", "csv", "md", "html", "txt"):
                path = result.save(f"{name}.{ending}")
                self.assertGreater(os.path.getsize(path), 20)
            with self.assertRaisesRegex(ValueError, "expected .tex, .csv, .md, .html or .txt"):
                result.save(f"{name}.xyz" if hasattr(result, "plot") else f"{name}.pdf")
        self.assertEqual(made[0].__class__, DataFrame)
        self.assertIn("interval_low", results["compared"].to_csv())


class ImageMistakes(Folder):
    """Three mistakes, each with its remedy, after which the same call goes on."""

    def remedied(self, images, words, remedy):
        with self.assertRaisesRegex(ValueError, words) as caught:
            certify(images=images)
        said = re.search(r"give (np\.rint\(.*?\)\.astype\(np\.uint8\))", str(caught.exception), re.I)
        again = eval(said.group(1), {"np": np, "images": images}) if remedy is None else remedy
        return certify(images=again)

    def test_bytes_as_reals(self):
        run = self.remedied(COLOURS.astype(np.float32), "bytes as reals", None)
        self.assertEqual(run.header["data"]["digest"], certify().header["data"]["digest"])
        self.remedied(COLOURS * 0.987, "bytes as reals", None)

    def test_resized(self):
        self.remedied(COLOURS / 255 * 0.7213, "between the steps of 1/255, as resizing", None)

    def test_normalised(self):
        mean, std = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.25, 0.3])
        normalised = ((COLOURS / 255 - mean) / std).astype(np.float32)
        with self.assertRaisesRegex(ValueError, "normalised.*before it, 0 to 1, and mean and std to this call"):
            certify(images=normalised)
        run = certify(lambda x: brightest(x * std[:, None, None] + mean[:, None, None]),
                      images=COLOURS / 255, mean=mean, std=std)
        self.assertEqual(run.certified_accuracy(0.1), 1)

    def test_whole_numbers_of_another_type(self):
        with self.assertRaisesRegex(ValueError, r"give images\.astype\(np\.uint8\)"):
            certify(images=COLOURS.astype(int))
        with self.assertRaisesRegex(ValueError, "expected uint8, or reals from 0 to 1$"):
            certify(images=COLOURS.astype(int) * 2)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class ExportedPrograms(Folder):
    def exported(self, **how):
        torch.manual_seed(1)
        network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 3))
        network[1].weight.data = 100 / 64 * torch.eye(3).repeat_interleave(64, 1)
        network[1].bias.data.zero_()
        return network, torch.export.export(network.eval(), (torch.rand(2, 3, 8, 8),), **how).module()

    def test_any_batch(self):
        network, program = self.exported(dynamic_shapes=({0: torch.export.Dim("batch")},))
        run = certify(program, identity=certspec.state_digest(program))
        self.assertEqual(run.certified_accuracy([0, 0.25]), certify(network).certified_accuracy([0, 0.25]))
        self.assertTrue(certspec.replay(program, run, COLOURS, LABELS, progress=False).equal)

    def test_fixed_batch_says_what_to_do(self):
        _, program = self.exported()
        with self.assertRaisesRegex(ValueError, "export it for batches of any size") as caught:
            certify(program)
        said = re.search(r"torch\.export\.export\(net, .*?\)\},\)\)", str(caught.exception)).group()
        again = eval(said, {"torch": torch, "net": self.exported()[0], "x": torch.rand(2, 3, 8, 8)}).module()
        self.assertEqual(len(certify(again).rows()), 6)


class OldRuntime(Folder):
    """A package onnxruntime that is too old is passed over, with a sentence that helps."""

    def package(self, version):
        os.makedirs("packages/onnxruntime/capi", exist_ok=True)
        for name in ("packages/onnxruntime/__init__.py", f"packages/onnxruntime/capi/libonnxruntime.so.{version}"):
            with open(name, "wb"):
                pass
        sys.path.insert(0, os.path.join(self.folder, "packages"))
        self.addCleanup(sys.path.remove, os.path.join(self.folder, "packages"))

    @unittest.skipUnless(sys.platform == "linux", "libraries have other names")
    def test_versions(self):
        from certspec import _program

        for name in [name for name in sys.modules if name.split(".")[0] == "onnxruntime"]:
            self.addCleanup(sys.modules.__setitem__, name, sys.modules.pop(name))
        before = os.environ.pop("CERTSPEC_ONNXRUNTIME", None)
        self.addCleanup(lambda: before and os.environ.update(CERTSPEC_ONNXRUNTIME=before))
        for version, taken in (("1.20.1", False), ("1.28.9", False), ("1.29.0", True), ("1.31.1", True)):
            self.package(version)
            self.assertEqual("CERTSPEC_ONNXRUNTIME" in _program.environment(), taken, version)
            os.remove(f"packages/onnxruntime/capi/libonnxruntime.so.{version}")
        os.environ["CERTSPEC_ONNXRUNTIME"] = "mine"
        self.addCleanup(os.environ.pop, "CERTSPEC_ONNXRUNTIME", None)
        self.package("1.31.1")
        self.assertEqual(_program.environment()["CERTSPEC_ONNXRUNTIME"], "mine")


class Warnings(Folder):
    def test_words_of_python(self):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            certify(labels=(LABELS + 1) % 3)
        text = " ".join(str(one.message) for one in found)
        self.assertIn("certspec.preflight looks for the reason", text)
        self.assertTrue(callable(certspec.preflight))


class BrokenHeaders(Folder):
    def test_every_reader_refuses_them(self):
        """What Python reads of a ledger passes the checks of the program: no number of a broken one."""
        run = certify(ledger="good.ledger", identity="mine")
        text = pathlib.Path("good.ledger").read_text(encoding="utf-8")
        readers = {
            "header": lambda x: x.header, "weights": lambda x: x.weights, "verify": lambda x: x.verify(),
            "report": lambda x: x.report(), "acr": lambda x: x.acr, "rows": lambda x: x.rows(), "len": len,
            "columns": lambda x: x.columns(), "table": lambda x: x.table(), "curve": lambda x: x.curve(),
            "certified_accuracy": lambda x: x.certified_accuracy(0.25), "summary": lambda x: x.summary,
            "compare": lambda x: certspec.compare(run, x),
            "replay": lambda x: certspec.replay(brightest, x, COLOURS, LABELS, progress=False),
            "certify": lambda x: certify(ledger=x.path, identity="mine")}
        for read in readers.values():
            read(run)
        for name, (old, new) in {
                "version": ('"version":', '"version":9'), "key": ('"noise":', '"norm":"l1","noise":'),
                "seed": ('"seed":"', '"seed":"1'), "sigma": ('"sigma":', '"sigma":-'),
                "classes": ('"classes":', '"classes":-')}.items():
            self.assertIn(old, text)
            body = text.replace(old, new, 1)
            body = body[:body.rindex("sha256 ")]
            seal = hashlib.sha256(body.encode()).hexdigest()
            pathlib.Path("bad.ledger").write_text(f"{body}sha256 {seal}\n", encoding="utf-8")
            for reader, read in readers.items():
                with self.subTest(name, reader=reader), self.assertRaises(certspec.CertspecError):
                    read(certspec.Ledger("bad.ledger"))


if __name__ == "__main__":
    unittest.main()
