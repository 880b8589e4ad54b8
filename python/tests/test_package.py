"""The package as its users meet it. `make test-external` runs it against the wheel."""
from __future__ import annotations

import doctest
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
import unittest
from collections import OrderedDict
from types import SimpleNamespace

import certspec
import numpy as np
from certspec import _images, _read
from certspec._model import Subject

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "PyTorch is not installed")

COLOURS = np.zeros((6, 8, 8, 3), np.uint8)
for _i in range(6):
    COLOURS[_i, :, :, _i % 3] = 255
LABELS = np.arange(6) % 3


def brightest(batch):
    """Logits: how bright each channel is."""
    return 100 * batch.mean(axis=(2, 3))


def certify(model=brightest, images=COLOURS, labels=LABELS, **more):
    settings = dict(sigma=0.25, n=500, rule="fixed", progress=False)
    settings.update(more)
    return certspec.certify(model, images, labels, **settings)


class Folder(unittest.TestCase):
    """A test in a folder of its own, which is the temporary folder, too."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        self.folder = place.name
        os.chdir(self.folder)
        self.temporary = os.path.join(self.folder, "temporary")
        os.mkdir(self.temporary)
        self.addCleanup(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = self.temporary


class TrainingMode(Folder):
    @needs_torch
    def test_every_submodule_is_restored(self):
        network = nn.Sequential(nn.Flatten(), nn.Linear(192, 8), nn.BatchNorm1d(8), nn.Dropout(),
                                nn.Linear(8, 3))
        network[2].eval()  # frozen in a network that trains
        modes = [part.training for part in network.modules()]
        self.assertEqual(len(set(modes)), 2)
        certify(network)
        self.assertEqual([part.training for part in network.modules()], modes)
        certspec.export_onnx(network, "net.onnx", shape=(8, 8, 3))
        self.assertEqual([part.training for part in network.modules()], modes)

        def fails(x):
            raise KeyError("broken")

        network.forward = fails
        with self.assertRaises(KeyError):
            certify(network)
        self.assertEqual([part.training for part in network.modules()], modes)


class MeanAndStd(Folder):
    def test_numbers_arrays_and_tensors(self):
        texts = set()
        kinds = [[0.5, 0.25, 0.25], (0.5, 0.25, 0.25), np.array([0.5, 0.25, 0.25], np.float32)]
        if torch is not None:
            kinds.append(torch.tensor([0.5, 0.25, 0.25]).view(3, 1, 1))
        for number, kind in enumerate(kinds):
            path = f"{number}.ledger"
            certify(mean=kind, std=np.float64(0.5), identity="mine", ledger=path)
            with open(path) as file:
                texts.add(file.read())
        self.assertEqual(len(texts), 1)
        self.assertIn("mine, chw, mean [0.5, 0.25, 0.25], std [0.5]", texts.pop())

    def test_carried_along(self):
        def timm(batch):
            return brightest(batch)

        def hugging(batch):
            return {"logits": brightest(batch)}

        timm.pretrained_cfg = {"mean": (0.5, 0.4, 0.3), "std": (0.25, 0.25, 0.25)}
        card = {"do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.25] * 3}
        hugging.image_processor = SimpleNamespace(to_dict=lambda: card)
        for model in (timm, hugging):
            self.assertIn("mean [0.5, 0.4, 0.3], std [0.25, 0.25, 0.25]", certify(model).weights)
            self.assertIn("chw, std [1.0]", certify(model, std=1).weights)
        card["do_normalize"] = False
        self.assertNotIn("mean", certify(hugging).weights)

    def test_wrong_ones(self):
        for more in ({"mean": [1, 2]}, {"std": 0}, {"std": [1, -1, 1]}, {"mean": np.nan}):
            with self.assertRaisesRegex(ValueError, next(iter(more))):
                certify(**more)
        with self.assertRaisesRegex(TypeError, "mean"):
            certify(mean="imagenet")

    @needs_torch
    def test_on_the_card_which_comes_first(self):
        network = nn.Sequential(nn.Flatten(), nn.Linear(192, 3))
        certspec.export_onnx(network, "net.onnx", shape=(8, 8, 3), mean=torch.tensor([0.5, 0.4, 0.3]),
                             std=np.float32(0.25), class_names=["a", "b", "c"])
        with open("net.onnx.json") as file:
            card = json.load(file)
        self.assertEqual(card["std"], [0.25])
        self.assertAlmostEqual(card["mean"][1], 0.4, 6)
        self.assertEqual(card["class_names"], ["a", "b", "c"])

        def fails(*args, **kwargs):
            raise OSError("disk full")

        before, torch.onnx.export = torch.onnx.export, fails
        self.addCleanup(setattr, torch.onnx, "export", before)
        before_files = os.listdir(".")
        for path in ("new.onnx", "net.onnx"):
            with self.assertRaises(OSError):
                certspec.export_onnx(network, path, shape=(8, 8, 3), mean=0.125)
        self.assertEqual(sorted(os.listdir(".")), sorted(before_files))
        with open("net.onnx.json") as file:  # the card of the file that is there stays
            self.assertEqual(json.load(file), card)
        for more, words in (({"mean": [1, 2]}, "mean"), ({"shape": (3, 8, 8)}, r"channels \(1 or 3\)")):
            with self.assertRaisesRegex(ValueError, words):
                certspec.export_onnx(network, "net.onnx", **{"shape": (8, 8, 3), **more})


def png(pixels):
    """An image (H, W, 3) as the file of a picture."""
    import struct
    import zlib

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class ClassNames(Folder):
    def test_order_of_a_folder(self):
        """Folders are sorted by name; a model that counts otherwise is found before a run."""
        for name, colour in (("blue", 2), ("green", 1), ("red", 0)):
            os.makedirs(f"pictures/{name}")
            for number in range(2):
                with open(f"pictures/{name}/{number}.png", "wb") as file:
                    file.write(png(COLOURS[colour]))

        def names(model, given):
            found = certspec.preflight(model, "pictures", sigma=0.25, class_names=given, progress=False)
            return next(check for check in found.checks if check.name == "classes")

        self.assertIn('0 is "red" in the model and "blue" in the data',
                      names(brightest, ["red", "green", "blue"]).found)
        self.assertEqual(names(lambda x: brightest(x)[:, ::-1], ["blue", "green", "red"]).verdict, "ok")
        for given, kind, words in ((["a", "b"], ValueError, "2 class_names for 3 classes"), ("red", TypeError, "class_names"),
                                   ([1, 2, 3], TypeError, "class_names"), (["a", "", "c"], TypeError, "class_names")):
            with self.assertRaisesRegex(kind, words):
                names(brightest, given)

    def test_on_every_verb(self):
        given = {"class_names": ["red", "green", "blue"], "progress": False}
        run = certify(**given)
        certspec.replay(brightest, run, COLOURS, LABELS, **given)
        certspec.predict(brightest, COLOURS, sigma=0.25, n=100, **given)
        certspec.evaluate(brightest, COLOURS, LABELS, **given)
        certspec.sweep(brightest, np.repeat(np.repeat(COLOURS, 4, axis=1), 4, axis=2), LABELS, sigma=0.25, n=200,
                       folder="swept", corrupt="contrast", severity=[1], rule="fixed", **given)


class Replays(Folder):
    def test_replay_reads_how_images_enter(self):
        for identity in ("mine", None):
            run = certify(mean=[0.5, 0.4, 0.3], std=0.25, identity=identity, batch_size=30,
                          ledger=f"{identity}.ledger")
            found = certspec.replay(brightest, run.path, COLOURS, LABELS, progress=False)
            self.assertTrue(found.equal and found.equal_identity, found)
            self.assertEqual((found.images, found.blocks), (6, 6 * 6))
            self.assertEqual(certspec.replay(brightest, run, COLOURS, LABELS, count=2,
                                             progress=False).images, 2)

    def test_another_model_is_found(self):
        run = certify(identity="mine", sigma=0.75)
        with self.assertRaisesRegex(certspec.CertspecError, "came out otherwise"):
            certspec.replay(lambda x: brightest(x) + [0, 0, 95], run, COLOURS, LABELS, progress=False)
        with self.assertRaisesRegex(certspec.CertspecError, "other images or labels"):
            certspec.replay(brightest, run, COLOURS[::-1], LABELS, progress=False)

    def test_commands_of_the_report_work(self):
        run = certify(identity="mine", std=0.5, ledger="net.ledger")
        text = run.report()
        self.assertIn('certspec.replay(model, "net.ledger", images, labels)',
                      text.replace(self.folder + "/", ""))
        place = {"model": brightest, "images": COLOURS, "labels": LABELS}
        lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
        for line in lines:
            if line.startswith(("import ", "certspec.")):
                exec(line, place)
            elif line.startswith("certspec "):
                done = subprocess.run([certspec.program(), *line.split()[1:]], capture_output=True)
                self.assertEqual(done.returncode, 0, (line, done.stderr))
        self.assertGreaterEqual(len(lines), 5)


class Reasons(Folder):
    def test_error_holds_the_sentence_of_the_program(self):
        certify(identity="one", ledger="run.ledger")
        with self.assertRaisesRegex(certspec.CertspecError, "another run|differs|of --") as caught:
            certify(identity="another", ledger="run.ledger")
        self.assertNotIn("standard error", str(caught.exception))
        certify(ledger="nameless.ledger")
        with self.assertRaisesRegex(ValueError, "nameless.ledger is there.*same identity"):
            certify(ledger="nameless.ledger")
        with self.assertRaisesRegex(ValueError, "radii"):
            certify(rule="betting", radii=[9.0])
        with self.assertRaisesRegex(FileNotFoundError, "none.ledger"):
            certspec.read_ledger("none.ledger")
        self.assertEqual(caught.exception.code, 1)

    def test_model_that_depends_on_its_batch(self):
        def majority(batch):
            rows = brightest(batch)
            return np.broadcast_to(rows.mean(axis=0), rows.shape)

        with self.assertRaisesRegex(certspec.CertspecError, "no deterministic function of one image"):
            certify(majority)

    def test_softmax_as_logits(self):
        def softmax(batch):
            rows = np.exp(batch.mean(axis=(2, 3)))
            return rows / rows.sum(axis=1, keepdims=True)

        with self.assertRaisesRegex(certspec.CertspecError, 'output="probabilities"'):
            certify(softmax)
        self.assertEqual(certify(softmax, output="probabilities").rows()[1]["predict"], 1)

    def test_warnings_are_warnings(self):
        with self.assertWarnsRegex(UserWarning, "labelled images are classified right"):
            certify(labels=(LABELS + 1) % 3)


class Outputs(Folder):
    def test_dict_tuple_and_logits(self):
        class Output(OrderedDict):
            logits = None

        def named(batch):
            answer = Output(loss=0.0)
            answer.logits = brightest(batch)
            return answer

        models = (named, lambda x: {"logits": brightest(x), "features": x}, lambda x: {"y": brightest(x)},
                  lambda x: (brightest(x), x), lambda x: SimpleNamespace(logits=brightest(x)),
                  lambda x: brightest(x).tolist())
        for model in models:
            self.assertEqual([row["predict"] for row in certify(model).rows()], list(LABELS))
        with self.assertRaisesRegex(TypeError, "'a', 'b'"):
            certify(lambda x: {"a": brightest(x), "b": 0})

    def test_sigmoid(self):
        def red(batch):
            return 1 / (1 + np.exp(-50 * (batch[:, 0].mean(axis=(1, 2)) - 0.5)))

        labels = (LABELS == 0).astype(int)
        for model in (red, lambda x: red(x)[:, None]):
            rows = certify(model, labels=labels, output="sigmoid").rows()
            self.assertEqual([row["predict"] for row in rows], list(labels))
        with self.assertRaisesRegex(ValueError, "sigmoid"):
            certify(red, labels=labels)
        with self.assertRaisesRegex(ValueError, "let it end in a sigmoid"):
            certify(lambda x: 40 * red(x), labels=labels, output="sigmoid")

    def test_wrong_answers(self):
        def answering(rows):
            return lambda batch: np.resize(rows, (len(batch), 3))

        for model, kind, words in (
                (answering(["a", "b", "c"]), TypeError, "answers are of type"),
                (answering([1j, 0, 0]), TypeError, "answers are of type"),
                (lambda x: brightest(x)[:, :1], ValueError, r"shape \(1, 1\)"),
                (lambda x: brightest(x)[:, :2] if len(x) > 1 else brightest(x), ValueError, "expected")):
            with self.assertRaisesRegex(kind, words):
                certify(model)
        with self.assertRaisesRegex(TypeError, "function"):
            certify(3)
        with self.assertRaisesRegex(ValueError, "one question"):
            def model(batch):
                return brightest(batch)

            model.config = SimpleNamespace(problem_type="multi_label_classification")
            certify(model)

    def test_classes(self):
        def classes(batch):
            return brightest(batch).argmax(axis=1)

        self.assertEqual(len(certify(classes, output="classes", classes=3).rows()), 6)
        self.assertEqual(len(certify(lambda x: classes(x) * 1.0, output="classes", classes=3).rows()), 6)
        for model in (lambda x: classes(x) + 0.5, lambda x: classes(x) * np.nan,
                      lambda x: classes(x) + 3, lambda x: classes(x) + 2**40):
            with self.assertRaisesRegex(ValueError, "answers"):
                certify(model, output="classes", classes=3)
        with self.assertRaisesRegex(ValueError, "classes is missing"):
            certify(classes, output="classes")
        with self.assertRaisesRegex(ValueError, "classes is 2.5"):
            certify(classes, output="classes", classes=2.5)


@needs_torch
class Denoisers(Folder):
    def test_in_front_of_a_classifier(self):
        def clean(batch):
            return batch.mean(axis=(2, 3), keepdims=True) + 0 * batch

        def picky(batch):
            """Right on what is even alone, as networks that never saw noise."""
            odd = abs(batch - batch.mean(axis=(2, 3), keepdims=True)).max(axis=(1, 2, 3)) > 0.01
            rows = brightest(batch)
            rows[odd] = [1, 0, 0]
            return rows

        alone = certify(picky)
        joined = certify(lambda batch: picky(clean(batch)))
        self.assertLess(alone.certified_accuracy([0.1])[0], 0.5)
        self.assertEqual(joined.certified_accuracy([0.1]), [1])

    @needs_torch
    def test_two_modules_are_one(self):
        denoiser = nn.Sequential(nn.AvgPool2d(8), nn.Upsample(scale_factor=8), nn.Dropout())
        classifier = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(3, 3, bias=False))
        with torch.no_grad():
            classifier[2].weight.copy_(100 * torch.eye(3))
        both = nn.Sequential(denoiser, classifier)
        run = certify(both, identity=certspec.state_digest(both))
        self.assertEqual(run.certified_accuracy([0.1]), [1])
        self.assertTrue(denoiser[2].training)


class HalfPrecision(Folder):
    def test_certify_digest_and_export(self):
        digests = set()
        for kind in (torch.float32, torch.float16, torch.bfloat16):
            torch.manual_seed(1)
            network = nn.Sequential(nn.Flatten(), nn.Linear(192, 3)).to(kind)
            digests.add(certspec.state_digest(network))
            run = certify(network, identity=certspec.state_digest(network), ledger=f"{kind}.ledger")
            self.assertEqual(len(run.rows()), 6)
            certspec.export_onnx(network, "half.onnx", shape=(8, 8, 3))
            self.assertEqual(next(network.parameters()).dtype, kind)
            try:
                import onnxruntime
            except ImportError:
                continue
            session = onnxruntime.InferenceSession("half.onnx")
            x = np.random.default_rng(1).random((4, 3, 8, 8), np.float32)
            found = session.run(None, {"image": x})[0]
            with torch.no_grad():
                want = network.float()(torch.from_numpy(x)).numpy()
            np.testing.assert_allclose(found, want, atol=1e-5)
        self.assertEqual(len(digests), 3)
        bare = nn.Flatten()  # has no weight that tells where it is
        placed = Subject(bare, _images.save(COLOURS, None, self.folder, None, "x"), classes=3, device="meta").placed(COLOURS)
        self.assertEqual(placed.device.type, "meta")
        halves = torch.from_numpy(COLOURS).permute(0, 3, 1, 2).half() / 255
        self.assertEqual(certify(images=halves).header["data"]["digest"], certify().header["data"]["digest"])
        self.assertEqual(certify(lambda x: torch.from_numpy(brightest(x)).bfloat16()).rows()[2]["predict"], 2)

    def test_digest_of_before(self):
        """Digests stand in ledgers: SHA-256 of class and structure, names, types, shapes and values."""
        import hashlib

        network = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))
        text = hashlib.sha256(repr(network).encode())
        for name, tensor in sorted(network.state_dict().items()):
            array = np.atleast_1d(tensor.numpy())
            text.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
        self.assertEqual(certspec.state_digest(network), "sha256:" + text.hexdigest())
        with self.assertRaises(TypeError):
            certspec.state_digest(brightest)


class Labels(Folder):
    def test_not_cut(self):
        for labels, kind, words in (
                (LABELS + 0.5, ValueError, "labels hold 0.5"), (LABELS * np.nan, ValueError, "nan"),
                (["red"] * 6, TypeError, "labels are of type"), (LABELS + 1j, TypeError, "labels"),
                (LABELS == 0, TypeError, "bool"), ([None] * 6, TypeError, "labels"),
                (LABELS[:5], ValueError, "6 images and 5 labels"), (LABELS - 1, ValueError, "labels from -1"),
                (LABELS + 1, ValueError, "labels from 1 to 3"), (np.eye(6), ValueError, "several")):
            with self.assertRaisesRegex(kind, words):
                certify(labels=labels)

    def test_whole_ones(self):
        for labels in (LABELS * 1.0, list(LABELS), LABELS[:, None], LABELS.astype(np.uint8)):
            self.assertEqual([row["label"] for row in certify(labels=labels).rows()], list(LABELS))

    def test_none(self):
        run = certify(labels=None, ledger="none.ledger")
        self.assertEqual([row["label"] for row in run.rows()], [-1] * 6)
        self.assertEqual([row["predict"] for row in run.rows()], list(LABELS))
        self.assertIsNone(run.summary.acr)
        for figure in (lambda: run.acr, run.certified_accuracy, run.plot):
            with self.assertRaisesRegex(ValueError, "no decided image has a label"):
                figure()
        self.assertTrue(certspec.replay(brightest, run, COLOURS, progress=False).equal)


class Shapes(Folder):
    def test_both_fit(self):
        images = np.zeros((4, 3, 8, 3), np.uint8)
        with self.assertRaisesRegex(ValueError, "image_layout='chw' or 'hwc'"):
            certify(images=images, labels=None)
        for layout, shape in (("chw", (8, 3, 3)), ("hwc", (3, 8, 3))):
            saved = _images.save(images, None, self.folder, layout, "x")
            self.assertEqual(saved.first.shape, shape)
        with self.assertRaisesRegex(ValueError, "one image in colour"):
            certify(images=COLOURS[0], labels=None)
        grey = _images.save(np.zeros((3, 9, 9), np.uint8), [0, 1, 2], self.folder, None, "x")
        self.assertEqual((len(grey.labels), grey.first.shape), (3, (9, 9, 1)))

    def test_forms_agree(self):
        want = certify().header["data"]["digest"]
        forms = [COLOURS.transpose(0, 3, 1, 2), COLOURS / 255, list(COLOURS),
                 list(zip(COLOURS, LABELS)), ({"image": x, "label": y} for x, y in zip(COLOURS, LABELS)),
                 [(COLOURS[:4], LABELS[:4]), (COLOURS[4:], LABELS[4:])],
                 [(COLOURS[:4], LABELS[:4]), (COLOURS[4:], LABELS[4:])].__iter__()]
        if torch is not None:
            pairs = torch.utils.data.TensorDataset(
                torch.from_numpy(COLOURS).permute(0, 3, 1, 2) / 255, torch.from_numpy(LABELS))
            forms += [pairs, torch.utils.data.DataLoader(pairs, 4), pairs.tensors[0]]
        for number, images in enumerate(forms):
            alone = number < 3 or torch is not None and images is pairs.tensors[0]
            labels = LABELS if alone else None
            self.assertEqual(certify(images=images, labels=labels).header["data"]["digest"], want, number)
        with self.assertRaisesRegex(ValueError, "bring labels along"):
            certify(images=list(zip(COLOURS, LABELS)))

    def test_wrong_values(self):
        for images, kind, words in (
                (COLOURS / 255 - 0.5, ValueError, "mean and std"), (COLOURS.astype(int), ValueError, "int64"),
                (COLOURS * np.nan, ValueError, "nan"), (COLOURS + 1j, TypeError, "complex"),
                (COLOURS.astype(str), TypeError, "expected numbers"), (COLOURS[:0], ValueError, "no images"),
                (3, TypeError, "expected an array"), (np.zeros((2, 8, 8, 4), np.uint8), ValueError, "1 or 3"),
                ([COLOURS[0], COLOURS[1][:4]], ValueError, "same shape|one size")):
            with self.assertRaisesRegex(kind, words):
                certify(images=images, labels=None)


class Mistakes(Folder):
    """What people bring that is not quite right: read as they mean it, or refused with a reason."""

    def pictures(self, *names):
        for name in names:
            os.makedirs(f"pictures/{name}", exist_ok=True)
            with open(f"pictures/{name}/one.png", "wb") as file:
                file.write(png(COLOURS[len(os.listdir("pictures")) % 3]))

    def test_folders(self):
        self.pictures("0", "1", "3")
        run = certspec.certify(lambda x: np.eye(4)[brightest(x).argmax(1)] * 9, "pictures", sigma=0.25, n=200,
                               rule="fixed", progress=False)
        self.assertEqual([row["label"] for row in run.rows()], [0, 1, 3])  # names that are numbers are labels
        self.pictures("__MACOSX", ".ipynb_checkpoints")
        self.assertEqual(certspec.evaluate(lambda x: np.eye(4)[brightest(x).argmax(1)] * 9, "pictures",
                                           progress=False)[0].images, 3)
        with open("pictures/1/two.jpg", "wb") as file:
            file.write(b"no picture at all")
        with self.assertRaisesRegex(certspec.CertspecError, "two.jpg"):
            certspec.evaluate(brightest, "pictures", progress=False)
        with self.assertRaisesRegex(certspec.CertspecError, "nowhere"):
            certspec.evaluate(brightest, "nowhere", progress=False)

    def test_models(self):
        with open("net.onnx", "wb") as file:
            file.write(b"\x08\x07nothing")
        with self.assertRaisesRegex(certspec.CertspecError, "net.onnx"):
            certify("net.onnx")
        for model, kind, words in (
                (lambda x: brightest(x)[0], ValueError, "shape"), (lambda x: None, TypeError, "answers"),
                (lambda x: brightest(x) * np.nan, certspec.CertspecError, "not finite|finite|random|misses"),
                (lambda x: "cat", TypeError, "answers"), (None, TypeError, "model is a NoneType")):
            with self.assertRaisesRegex(kind, words):
                certify(model)
        with self.assertRaisesRegex(TypeError, "labels"):
            certspec.certify(brightest, COLOURS, "cats", sigma=0.25)
        with self.assertRaisesRegex(ValueError, "device is for a torch.nn.Module"):
            certify(device="cuda")
        for items in (zip(COLOURS, LABELS, LABELS), [(COLOURS, LABELS, LABELS)]):
            with self.assertRaisesRegex(TypeError, r"3 parts; expected images, or \(images, labels\)"):
                certify(images=items, labels=None)
        with self.assertRaisesRegex(TypeError, "sigma"):
            certspec.certify(brightest, COLOURS, LABELS)

    @needs_torch
    def test_card_with_byte_order_mark(self):
        torch.manual_seed(1)
        path = certspec.export_onnx(nn.Sequential(nn.Flatten(), nn.Linear(192, 3)), "net.onnx", shape=(8, 8, 3), std=0.5)
        with open("net.onnx.json", "rb") as file:
            card = file.read()
        with open("net.onnx.json", "wb") as file:
            file.write(b"\xef\xbb\xbf" + card)
        self.assertIn("0.5", str(certspec.preflight(path, COLOURS, LABELS, sigma=0.25, progress=False)))


class Arguments(Folder):
    def test_options_that_replace_the_call(self):
        for words in (["--sigma", "0.5"], ["--sigma=0.5"], ["--data", "x"], ["--out", "y"], ["-o", "y"],
                      ["-oy"], ["--n=5"], ["--json"], ["--model", "m"], ["--exec-fds=1,2"],
                      ["--rule", "staged"]):
            with self.assertRaisesRegex(ValueError, words[0].split("=")[0][:2]):
                certify(options=words)
        with self.assertRaisesRegex(ValueError, "--seed"):
            certify(seed=1, options=["--seed=2"])
        for no_list in ("--alpha 0.1", {"alpha": "0.1"}):
            with self.assertRaisesRegex(TypeError, "list of words"):
                certify(options=no_list)
        self.assertEqual(certify(options=["--alpha", "0.1"]).header["alpha"], 0.1)

    def test_settings(self):
        run = certify(alpha=0.01, n0=200, block=50, seed=7, workers=1, noise="gaussian", data_name="mine")
        header = run.header
        self.assertEqual((header["alpha"], header["selection"], header["block"], header["seed"]),
                         (0.01, 200, 50, "7"))
        self.assertEqual(header["data"]["name"], "npy:mine.npy,labels.npy")
        self.assertTrue(certspec.replay(brightest, run, COLOURS, LABELS, progress=False).equal)
        run = certspec.certify(brightest, COLOURS, LABELS, sigma=0.25, rule="anytime", budget="5e3",
                               progress=False)
        self.assertEqual(run.header["rule"]["name"], "anytime")
        scores = certify(keep_scores=True, ledger="scores.ledger").header["scores"]
        self.assertEqual(scores, certify(keep_scores=1000, ledger="more.ledger").header["scores"])
        for more, kind, words in (
                ({"blok": 100}, TypeError, "did you mean 'block'"), ({"n": 100.5}, ValueError, "n is 100.5"),
                ({"n": "many"}, TypeError, "n is a str"), ({"seed": 1.5}, ValueError, "seed"),
                ({"alpha": "small"}, TypeError, "alpha is a str"),
                ({"layout": "x"}, ValueError, "layout"), ({"output": "class"}, ValueError, "output"),
                ({"identity": ""}, ValueError, "identity"), ({"data_name": "a,b"}, ValueError, "data_name")):
            with self.assertRaisesRegex(kind, words):
                certify(**more)

    def test_sigma_in_bytes(self):
        for sigma in (25, 64.0, 1.5, np.int64(12)):
            with self.assertRaisesRegex(ValueError, f"did you mean {sigma:g}/255"):
                certify(sigma=sigma)
        for sigma in (0, -1, float("nan")):
            with self.assertRaisesRegex(ValueError, "sigma"):
                certify(sigma=sigma)
        with self.assertRaisesRegex(TypeError, "sigma"):
            certify(sigma="0.25")

    def test_help_shows_all(self):
        import inspect

        names = inspect.signature(certspec.certify).parameters
        self.assertTrue({"sigma", "n", "mean", "rule", "keep_scores", "device"} <= set(names))


class TemporaryFolders(Folder):
    def test_removed(self):
        run = certify()
        self.assertTrue(os.path.exists(run.path))
        self.assertEqual(len(os.listdir(self.temporary)), 1)  # the ledger's, as long as it is used
        self.assertEqual(len(run.rows()), 6)
        del run
        self.assertEqual(os.listdir(self.temporary), [])

        def fails(batch):
            if len(batch) > 1:
                raise KeyError("broken")
            return brightest(batch)

        for wrong in ({"model": fails}, {"labels": LABELS + 1}, {"images": COLOURS / 300}, {"n": 123}):
            with self.assertRaises((KeyError, ValueError, certspec.CertspecError)):
                certify(**wrong)
        certify(ledger="kept.ledger")
        self.assertEqual(os.listdir(self.temporary), [])

    def test_full_one_is_named(self):
        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                return False

            def write(self, data):
                import errno

                raise OSError(errno.ENOSPC, "No space left on device")

        _images.open = lambda *args: Full()
        self.addCleanup(lambda: _images.__dict__.pop("open"))
        with self.assertRaisesRegex(OSError, f"No space left.*{self.temporary}.*TMPDIR"):
            certify()

    @unittest.skipUnless(os.path.exists("/dev/full"), "the system has no full device")
    def test_full_device(self):
        with self.assertRaisesRegex(OSError, "TMPDIR"):
            os.symlink("/dev/full", os.path.join(self.temporary, "images.npy"))
            _images.save(COLOURS, LABELS, self.temporary, None, "images")


class Memory(Folder):
    def test_images_are_converted_in_pieces(self):
        images = np.zeros((2000, 32, 32, 3), np.float32)  # 25 MB
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        saved = _images.save(images.transpose(0, 3, 1, 2), np.zeros(2000, int), self.folder, None, "x")
        peak = tracemalloc.get_traced_memory()[1]
        self.assertEqual(len(saved.labels), 2000)
        self.assertLess(peak, images.nbytes / 2)
        self.assertEqual(np.load("x.npy").shape, (2000, 32, 32, 3))
        if torch is not None:
            tracemalloc.reset_peak()
            _images.save(torch.from_numpy(images), None, self.folder, "hwc", "y")
            self.assertLess(tracemalloc.get_traced_memory()[1] - peak, images.nbytes / 2)

    def test_streams(self):
        def batches():
            for number in range(300):
                yield np.full((40, 3, 32, 32), number % 256, np.uint8), np.full(40, number % 3)

        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        saved = _images.save(batches(), None, self.folder, None, "x")  # 37 MB
        self.assertLess(tracemalloc.get_traced_memory()[1], 8e6)
        self.assertEqual((len(saved.labels), saved.labels.sum()), (12000, 12000))
        self.assertEqual(np.load("x.npy", mmap_mode="r")[-1, 0, 0, 0], 299 % 256)


class Ahead(Folder):
    """The next block is read, and brought to the device, while the model computes this one."""

    def test_next_block_is_there(self):
        there, lacking = [], []
        placed = Subject.placed

        def counted(subject, batch):
            there.append(1)
            return placed(subject, batch)

        Subject.placed = counted
        self.addCleanup(setattr, Subject, "placed", placed)

        def model(batch):
            model.calls += 1
            if len(batch) == 50 and 400 < model.calls < 500:  # amid the run, not in the first look
                end = time.monotonic() + 5
                while len(there) <= model.calls and time.monotonic() < end:
                    time.sleep(0.001)
                lacking.append(len(there) <= model.calls)
            return brightest(batch)

        model.calls = 0
        certify(model, n=10000, block=50)
        self.assertEqual(len(lacking), 99)
        self.assertEqual(sum(lacking), 0)

    def test_blocks_on_an_accelerator(self):
        from certspec._verbs import _run

        def block(place, n=10000, path="no.ledger", **given):
            weights = SimpleNamespace(device=place)
            module = SimpleNamespace(parameters=lambda: iter([weights]), state_dict=dict, eval=dict, modules=list)
            words = _run(module if place else brightest, path, 0.25, n, given)
            return [word for word in words if word.startswith("--block")]

        self.assertEqual(block("cuda:0"), ["--block=1000"])
        self.assertEqual(block("cpu", device="mps"), ["--block=1000"])
        for found in (block("cuda:0", block=20), block("cpu"), block(None), block("cuda", 500), block("cuda", n0=100), block("cuda", device="cpu")):
            self.assertEqual(found, [])
        certify(ledger="begun.ledger", block=50)
        self.assertEqual(block("cuda:0", path="begun.ledger"), ["--block=50"])

    def test_error_of_what_is_read_ahead(self):
        placed = Subject.placed

        def fails(subject, batch):
            if len(batch) == 50:
                raise MemoryError("the device is full")
            return placed(subject, batch)

        Subject.placed = fails
        self.addCleanup(setattr, Subject, "placed", placed)
        with self.assertRaisesRegex(MemoryError, "device is full"):
            certify(block=50)


class Interrupts(Folder):
    def test_ctrl_c_in_a_group(self):
        """Both processes are in one group, as in a terminal: the run is stopped, and goes on."""
        script = os.path.join(self.folder, "script.py")
        with open(script, "w") as file:
            file.write("""
import sys, time
import certspec, numpy as np
def brightest(batch):
    time.sleep(0.02)
    return 100 * batch.mean(axis=(2, 3))
print("begins", flush=True)
images = np.zeros((6, 8, 8, 3), np.uint8)
try:
    certspec.certify(brightest, images, [0] * 6, sigma=0.25, n=int(sys.argv[1]), rule="fixed",
                     ledger="run.ledger", identity="brightest", options=["--alpha=0.01"])
except KeyboardInterrupt as error:
    sys.exit(f"interrupt: {error}")
""")
        child = subprocess.Popen([sys.executable, script, "20000"], stderr=subprocess.PIPE, text=True,
                                 stdout=subprocess.PIPE, start_new_session=True)
        child.stdout.readline()
        while not os.path.exists("run.ledger"):
            self.assertIsNone(child.poll(), "it ended before it was interrupted")
            time.sleep(0.1)
        time.sleep(1)
        os.killpg(child.pid, signal.SIGINT)
        said = child.communicate(timeout=60)[1]
        self.assertEqual(child.returncode, 1, said)
        self.assertIn("interrupt: stopped on request; the same call goes on", said)
        self.assertNotIn("Traceback", said)
        with open("run.ledger") as file:
            kept = file.read()
        self.assertNotIn("sha256 ", kept.splitlines()[-1])

    def test_exception_keeps_what_is_finished(self):
        calls = []

        def fails(batch):
            calls.append(1)
            if len(calls) == stop:
                raise KeyError("the model fails")
            return brightest(batch)

        stop = 0
        certify(fails, ledger="whole.ledger", identity="brightest")
        stop = len(calls) - 15
        calls.clear()
        with self.assertRaisesRegex(KeyError, "the model fails"):
            certify(fails, ledger="run.ledger", identity="brightest")
        stop = 0
        with open("run.ledger") as file, open("whole.ledger") as whole:
            part, text = file.read(), whole.read()
        self.assertTrue(3 < part.count("\n") < text.count("\n"))
        certify(fails, ledger="run.ledger", identity="brightest")
        with open("run.ledger") as file:
            self.assertEqual(file.read(), text)


class Reading(Folder):
    def test_ledger_from_elsewhere(self):
        run = certify(ledger="run.ledger", identity="mine")
        other = certspec.Ledger("run.ledger")
        self.assertEqual(other.header, run.header)
        self.assertEqual(other.certified_accuracy([0, 0.5, 5]), [1, 1, 0])
        found = _read.columns_of("idx,n,plow\n1,,1e-07\n3,2,0.5\n")
        self.assertEqual([found["idx"].dtype.kind, found["n"].dtype.kind], ["i", "f"])
        self.assertEqual((found["idx"].tolist(), found["n"][1], found["plow"][0]), ([1, 3], 2, 1e-7))
        self.assertIn("holds: 6 images", other.verify())
        other.report("report.html", format="html")
        with open("report.html") as file:
            self.assertIn("<html", file.read())
        self.assertIn("none stated", certify(ledger="nameless.ledger").weights)
        curve = run.curve()
        self.assertEqual(curve, sorted(curve))
        self.assertEqual(curve[0][1], 1)

    def test_committed_ledger(self):
        here = os.path.dirname(os.path.abspath(__file__))
        run = certspec.Ledger(os.path.join(here, "../../notebooks/results/quickstart.ledger"))
        self.assertIn("holds: 500 images", run.verify())
        self.assertEqual(run.certified_accuracy([0.0, 0.25]), [0.854, 0.782])  # its last lines say so
        self.assertEqual((len(run.rows()), run.header["sigma"]), (500, 0.25))


    def test_published_log(self):
        """Against the sums by hand; the program warns of what no 100 noise samples can prove."""
        with open("published.tsv", "w") as file:
            file.write("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.5\t1\t0:00:01\n"
                       "1\t2\t-1\t0.0\t0\t0:00:01\n2\t0\t1\t0.75\t0\t0:00:01\n3\t0\t0\t0.25\t1\t2.5\n")
        log = certspec.from_smoothing_log("published.tsv")
        self.assertAlmostEqual(log.acr, 0.75 / 4)
        self.assertEqual(log.certified_accuracy([0, 0.25, 0.3]), [0.5, 0.5, 0.25])
        self.assertEqual(log.curve(), [(0.25, 0.5), (0.5, 0.25)])
        self.assertEqual([row["n"] for row in log.rows()], [None] * 4)
        self.assertEqual(log.columns()["radius"].tolist(), [0.5, 0, 0.75, 0.25])
        self.assertIn("<td>0.188</td>", log._repr_html_())
        log.plot()
        self.assertEqual(certspec.compare(log, log).acr.difference, 0)
        with self.assertWarnsRegex(UserWarning, "radi"):
            certspec.from_smoothing_log("published.tsv", sigma=0.25, n=10, alpha=0.001)
        with self.assertRaisesRegex(certspec.CertspecError, "all three or none"):
            certspec.from_smoothing_log("published.tsv", sigma=0.25)
        with open("published.tsv", "a") as file:
            file.write("4\tcat\t0\t0.25\t1\t2.5\n5\t0\t0\t0.25\t1\t2.5\n")
        with self.assertRaisesRegex(certspec.CertspecError, "line 6"):
            certspec.from_smoothing_log("published.tsv")


class Types(unittest.TestCase):
    def test_results_say_what_they_are(self):
        """No Any and no bare object in what a public name returns or holds."""
        import inspect

        for name in certspec.__all__:
            thing = getattr(certspec, name)
            members = {}
            if isinstance(thing, type):
                members = {key: value.fget if isinstance(value, property) else value
                           for key, value in vars(thing).items() if not key.startswith("_")}
                for field, hint in thing.__dict__.get("__annotations__", {}).items():
                    self.assertNotRegex(str(hint), "Any|object", f"{name}.{field}")
            for where, call in {name: thing, **members}.items():
                if inspect.isfunction(call):
                    hint = str(inspect.unwrap(call).__annotations__.get("return"))
                    self.assertNotRegex(hint, r"\bAny\b|\bobject\b|None\Z", f"{name}: {where}")


class Reference(unittest.TestCase):
    def test_current(self):
        import reference

        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../docs/reference/python.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), reference.reference(), "python/tests/reference.py makes it")
        for name in certspec.__all__:
            self.assertIn(f"## {name}\n" if name != "Row" else "", reference.reference())


class Verbs(Folder):
    def test_preflight(self):
        images = np.concatenate([COLOURS] * 5)
        labels = np.concatenate([LABELS] * 5)
        found = certspec.preflight(brightest, images, labels, sigma=0.25, progress=False, budget="8h")
        self.assertTrue(found.ok)
        self.assertEqual((found.images, found.clean_accuracy), (30, 1))
        self.assertGreater(len(found.plans), 3)
        self.assertIn("same input, same answer", str(found))
        wrong = certspec.preflight(brightest, images, (labels + 1) % 3, sigma=0.25, progress=False)
        self.assertFalse(wrong.ok)  # it advises against the run, and says why
        self.assertIn("failure", {check.verdict for check in wrong.checks})
        self.assertEqual(wrong.plans, [])
        with self.assertRaises(certspec.CertspecError):
            certspec.preflight(brightest, images, labels, sigma=0.25, budget="soon", progress=False)

    def test_predict(self):
        found = certspec.predict(brightest, COLOURS, sigma=0.25, n=200, progress=False)
        self.assertEqual([one.predict for one in found], list(LABELS))
        self.assertEqual([one.label for one in found], [-1] * 6)
        self.assertEqual((sum(found[0].counts), found[0].misses), (200, 0))
        self.assertLess(found[0].p_value, 0.001)
        self.assertEqual(certspec.predict(lambda x: 0 * brightest(x), COLOURS[:1] // 2, sigma=0.25,
                                          progress=False)[0].predict, 0)

    def test_evaluate_and_sweep(self):
        big = np.repeat(np.repeat(COLOURS, 4, axis=1), 4, axis=2)
        found = certspec.evaluate(brightest, big, LABELS, corrupt="contrast", severity=[1, 2], progress=False)
        self.assertEqual([(one.set, one.images) for one in found], [("clean", 6), ("contrast", 12)])
        self.assertEqual((found[0].right, found[0].share), (6, 1))
        cells = certspec.sweep(brightest, big, LABELS, sigma=0.25, n=200, rule="fixed", folder="swept",
                               corrupt=["contrast"], severity=[1], identity="mine", progress=False)
        self.assertEqual(list(cells), ["clean", "contrast-1"])
        self.assertEqual(cells["contrast-1"].certified_accuracy([0]), [1])
        table = cells.table()
        self.assertEqual([row.name for row in table], ["contrast", "all"])
        self.assertAlmostEqual(table[0].acr, cells["contrast-1"].acr)
        self.assertIn(">contrast</td>", cells._repr_html_())

    def test_any_verb(self):
        self.assertIn("p is at least 0.976036", certspec.run("bound", "--k=990", "--n=1000"))
        with self.assertRaisesRegex(certspec.CertspecError, "did you mean bound"):
            certspec.run("bund")
        os.makedirs("maps")
        words = ("spectral", "heatmap", "--metric=error", "--frequencies=0,2", "-o", "maps/error.png")
        given = {"images": COLOURS, "labels": LABELS, "progress": False}
        found = json.loads(certspec.run(*words, model=brightest, **given))
        self.assertEqual((found["model"], found["images"]), ("brightest", 6))
        self.assertEqual(os.listdir("maps"), ["error.png"])  # where we are, not where the images are
        given["images"] = np.random.default_rng(1).integers(0, 256, (20, 8, 8, 3), dtype=np.uint8)
        given["labels"] = np.arange(20) % 2
        words = ("spectral", "record", "--pairs=4", "--pixel-pairs=1", "--out=records.jsonl")
        found = json.loads(certspec.run(*words, model=brightest, **given))  # a Jacobian asks between the bytes
        self.assertEqual(found["images"]["id_acc"], 20)

    def test_compare_and_calibration(self):
        near = certify(ledger="near.ledger", sigma=0.25, keep_scores=True)
        far = certify(ledger="far.ledger", sigma=0.5)
        found = certspec.compare(near, "far.ledger", radii=[0, 0.5])
        self.assertEqual((found.images, [at.radius for at in found.certified_accuracy]), (6, [0, 0.5]))
        self.assertAlmostEqual(found.acr.difference, found.acr.b - found.acr.a)
        self.assertTrue(found.acr.interval.low <= found.acr.difference <= found.acr.interval.high)
        at = certspec.calibration(near, [0.0, 0.25])
        self.assertEqual([(one.radius, one.n, one.accuracy) for one in at], [(0, 6, 1), (0.25, 6, 1)])
        self.assertTrue(at[0].ece <= at[0].certified_ece <= at[1].certified_ece, at)
        with self.assertRaisesRegex(certspec.CertspecError, "scores"):
            certspec.calibration(far, [0.0])

    def test_metrics(self):
        """Against the definition: the mean gap of the bins, by their share of the samples."""
        random = np.random.default_rng(1)
        rows = random.dirichlet(np.ones(4), 500)
        labels = random.integers(0, 4, 500)
        confidence, right = rows.max(axis=1), rows.argmax(axis=1) == labels
        want = 0.0
        for low in range(10):
            inside = (confidence >= low / 10) & (confidence < (low + 1) / 10)
            if inside.any():
                want += inside.mean() * abs(confidence[inside].mean() - right[inside].mean())
        self.assertAlmostEqual(certspec.ece(rows, labels, bins=10), want, 9)
        found = certspec.metrics(rows, labels)
        self.assertAlmostEqual(found.accuracy, right.mean(), 12)
        self.assertEqual(found.n, 500)
        self.assertEqual(certspec.ece(rows[:, 1], (labels == 1) * 1), certspec.ece(
            np.stack([1 - rows[:, 1], rows[:, 1]], 1), (labels == 1).astype(int)))
        for bad, kind in (((rows * 2, labels), ValueError), ((rows, labels[:5]), ValueError),
                          ((rows, labels + 0.5), ValueError), ((rows.astype(str), labels), TypeError),
                          ((rows, labels + 4), ValueError), ((rows, labels - 4), ValueError)):
            with self.assertRaises(kind):
                certspec.metrics(*bad)

    def test_images_by_name(self):
        name = "synthetic/test[count=10]"
        def ten(batch):
            return np.stack([batch.mean(axis=(1, 2, 3)) * k for k in range(10)], 1)

        run = certspec.certify(ten, name, sigma=0.25, n=200, rule="fixed", progress=False)
        self.assertEqual(run.header["data"]["name"], name)
        self.assertEqual(len(run.rows()), 10)
        with self.assertRaisesRegex(ValueError, "has its own"):
            certspec.certify(ten, name, [0] * 10, sigma=0.25)
        with self.assertRaisesRegex(certspec.CertspecError, "unknown data set"):
            certspec.certify(ten, "cifar", sigma=0.25)

    @needs_torch
    def test_model_files(self):
        torch.manual_seed(1)
        network = nn.Sequential(nn.Conv2d(3, 3, 8), nn.Flatten())
        network[0].weight.data = torch.eye(3)[:, :, None, None].repeat(1, 1, 8, 8)  # the brightest
        path = certspec.export_onnx(network, "net.onnx", shape=(8, 8, 3), mean=0.5)
        try:
            run = certify(path, ledger="onnx.ledger")
        except certspec.CertspecError as error:
            self.skipTest(str(error))
        live = certify(network, mean=0.5)
        self.assertEqual([row["predict"] for row in run.rows()], [row["predict"] for row in live.rows()])
        self.assertTrue(certspec.replay(path, run, COLOURS, LABELS, progress=False).equal)
        found = certspec.quantize(path, "q.onnx", COLOURS, LABELS, sigma=0.25, progress=False)
        self.assertEqual(len(certify(found).rows()), 6)
        with self.assertRaisesRegex(ValueError, "identity is for a model of this process"):
            certify(path, identity="mine")
        with self.assertRaisesRegex(certspec.CertspecError, "class.names|class names"):
            certify(path, class_names=["red", "green"])
        self.assertEqual(len(certify(path, class_names=["red", "green", "blue"]).rows()), 6)
        with self.assertRaisesRegex(ValueError, "class_names"):
            certspec.quantize(path, "q.onnx", COLOURS, sigma=0.25, class_names=["red", "green", "blue"])
        with self.assertRaisesRegex(TypeError, "expected the path of a file"):
            certspec.quantize(network, "q.onnx", COLOURS, sigma=0.25)
        deep = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(8), nn.Flatten(), nn.Linear(4, 3))
        deep = certspec.export_onnx(deep, "deep.onnx", shape=(8, 8, 3), mean=0.5)
        integers = certspec.quantize(deep, "deep.intnet", COLOURS, LABELS, sigma=0.25, progress=False)
        whole = certify(integers, ledger="integers.ledger")
        self.assertTrue(certspec.replay(integers, whole, COLOURS, LABELS, progress=False).equal)
        left = certspec.attack(path, run, COLOURS, LABELS, radii=[0.25, 4], steps=2, n=100, progress=False)
        self.assertEqual([(at.radius, at.images) for at in left], [(0.25, 6), (4, 6)])
        with self.assertRaisesRegex(FileNotFoundError, "none.onnx"):
            certify("none.onnx")


@needs_torch
class Attacks(Folder):
    def setUp(self):
        super().setUp()
        torch.manual_seed(1)
        self.network = nn.Sequential(nn.Conv2d(3, 3, 8), nn.Flatten())
        self.network[0].weight.data = torch.eye(3)[:, :, None, None].repeat(1, 1, 8, 8) / 8

    def test_live_module(self):
        """Of the brightest channel: at its distance from the boundary no attack fails."""
        grey = np.full((4, 8, 8, 3), 100, np.uint8)
        labels = np.array([0, 1, 2, 0])
        for image, label in zip(grey, labels):
            image[..., label] += 30
            image[..., (label + 1) % 3] -= 10  # no tie between the others
        # Two channels differ by 30/255 in 64 pixels each: the boundary is 8·(30/255)/√2 = 0.665 away.
        for how in ({"mean": 0.5, "std": [0.25, 0.25, 0.25]}, {"output": "probabilities"}):
            network = self.network
            if "output" in how:
                network = nn.Sequential(*self.network, nn.Softmax(1))
            run = certify(network, grey, labels, n=1000, sigma=0.25, **how)
            left = certspec.attack(network, run, grey, labels, radii=[0.2, 1.2], n=200, progress=False,
                                   **({"output": "probabilities"} if "output" in how else {}))
            self.assertEqual([(at.broken, at.empirical) for at in left], [(0, 1), (4, 0)], how)
            self.assertEqual(left[1].certified, 0)
            self.assertIn("4 images, Sequential, σ = 0.25, n ≤ 1,000", left.about)

    def test_gradients(self):
        """Against differences of the function itself, in both layouts, half of them by steps of a batch."""
        torch.manual_seed(2)
        chw = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 3)).double()
        hwc = nn.Sequential(nn.Flatten(), nn.Linear(192, 3), nn.Sigmoid()).double()
        one = nn.Sequential(nn.Flatten(), nn.Linear(192, 1), nn.Sigmoid()).double()
        images = _images.save(COLOURS, None, self.folder, None, "x")
        x = np.random.default_rng(1).random((3, 8, 8, 3), np.float32)
        labels = np.array([1, 0, 1], "<i4")
        for network, how in ((chw, {"mean": 0.5, "std": [0.25, 0.5, 1]}), (hwc, {"layout": "hwc"}),
                             (one, {"output": "sigmoid", "batch_size": 2})):
            subject = Subject(network, images, **how)
            parts = subject.entering(x.tobytes() + labels.tobytes(), 3, True)
            self.assertEqual(len(parts), 2 if "batch_size" in how else 1)
            content = subject.answer(parts, 3)
            found = np.frombuffer(content, "<f4").reshape(3, 193)

            def confidence(points):
                rows = subject.rows(subject.placed(points)).astype(float)
                if subject.output == "logits":
                    rows = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
                return rows[range(3), labels]

            np.testing.assert_allclose(found[:, 0], confidence(x), rtol=1e-5)
            for place in ((2, 3, 0), (7, 7, 2)):
                near, far = x.copy(), x.copy()
                near[(slice(None), *place)] -= 0.01
                far[(slice(None), *place)] += 0.01
                want = (confidence(far) - confidence(near)) / 0.02
                np.testing.assert_allclose(found[:, 1:].reshape(x.shape)[(slice(None), *place)], want,
                                           rtol=2e-2, atol=1e-5)

    def test_refused(self):
        run = certify(self.network)
        with self.assertRaisesRegex(TypeError, "expected a torch.nn.Module"):
            certspec.attack(brightest, run, COLOURS, LABELS)
        named = certify(self.network, identity=certspec.state_digest(self.network))
        with self.assertRaisesRegex(certspec.CertspecError, "the model Sequential is .*the ledger is of"):
            certspec.attack(nn.Sequential(*self.network, nn.Identity()), named, COLOURS, LABELS, progress=False)
        with self.assertRaisesRegex(ValueError, "no gradients"):
            certspec.attack(self.network, run, COLOURS, LABELS, output="classes", classes=3)
        for more, words in (({"radii": [-1]}, "radii"), ({"labels": (LABELS + 1) % 3}, "label")):
            with self.assertRaisesRegex(certspec.CertspecError, words):
                certspec.attack(self.network, run, COLOURS, more.get("labels", LABELS), progress=False,
                                radii=more.get("radii", [0.25]))


class InANotebook(Folder):
    def setUp(self):
        super().setUp()
        here = os.path.dirname(os.path.abspath(__file__))
        self.run_ = certspec.Ledger(os.path.join(here, "../../notebooks/results/quickstart.ledger"))

    def test_pages(self):
        page = self.run_._repr_html_()
        for words in ("0.8540", "0.7820", "18 of 500", "What is claimed", "<svg", "</figure>"):
            self.assertIn(words, page)
        self.assertNotIn("<body", page)
        with self.assertRaisesRegex(FileNotFoundError, "none.ledger"):
            certspec.Ledger("none.ledger")
        rows = certspec.predict(brightest, COLOURS, sigma=0.25, n=200, progress=False)
        self.assertEqual(rows._repr_html_().count("<tr>"), 7)
        self.assertIn("<th>p_value</th>", rows._repr_html_())
        found = certspec.preflight(brightest, COLOURS, LABELS, sigma=0.25, progress=False)
        self.assertIn("same input, same answer", found._repr_html_())
        hostile = certspec.Table([{"name": "<script>", "value": None}] * 40)._repr_html_()
        self.assertNotIn("<script>", hostile)
        self.assertIn("10 more rows", hostile)

    def plots(self):
        scored = certify(keep_scores=True)
        left = certspec.Attacked([certspec.UnderAttack(0.25, 0.5, 0.75, 1, 0, 4)])
        left.about = "a long name of data, " * 8
        table = certspec.calibration(scored, [0.0, 0.25, 9.0])  # at 9 nothing is certified
        self.assertEqual(table[2].n, 0)
        return self.run_.plot(), table.plot(), left.plot()

    def test_svg(self):
        import xml.etree.ElementTree as tree

        modules = {name: sys.modules.get(name) for name in ("matplotlib", "matplotlib.pyplot")}
        for name in modules:
            sys.modules[name] = None
            self.addCleanup(lambda name=name, old=modules[name]: sys.modules.update({name: old})
                            if old else sys.modules.pop(name))
        for figure in self.plots():
            top = tree.fromstring(figure._repr_svg_())
            marks = [part for part in top.iter() if part.tag.endswith(("polyline", "circle"))]
            self.assertGreater(len(marks), 1)
        drawn = list(tree.fromstring(self.run_.plot()).iter())
        labels = [part.text for part in drawn if part.tag.endswith("text")]
        self.assertTrue({"0.2", "0.4", "certified accuracy at r", "quickstart"} <= set(labels), labels)
        self.assertIn("fashionmnist/test (500 images), fmnist-cnn-s025, σ = 0.25, n ≤ 10,000, α = 0.001", " ".join(labels))

    def test_matplotlib(self):
        try:
            from matplotlib import pyplot
        except ImportError:
            self.skipTest("matplotlib is not installed")
        figures = self.plots()
        self.assertEqual(pyplot.get_fignums(), [])  # a cell shows each of them once
        for figure, words in zip(figures, ("σ = 0.25, n ≤ 10,000", "6 images, brightest, σ", "Accuracy")):
            self.assertIn(words, figure.axes[0].get_title())
            figure.draw_without_rendering()
            box, whole = figure.axes[0].title.get_window_extent(), figure.bbox
            self.assertTrue(whole.x0 <= box.x0 and box.x1 <= whole.x1 and box.y1 <= whole.y1, words)
        line = figures[0].axes[0].lines[0]
        for radius, accuracy in self.run_.curve():
            self.assertIn((radius, accuracy), list(zip(line.get_xdata(), line.get_ydata())))
        axes = pyplot.figure().subplots()
        self.assertIs(self.run_.plot(ax=axes), axes.figure)
        self.assertEqual(axes.get_title(), "Certified accuracy by radius")  # the page is the caller's
        pyplot.close("all")


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocFileSuite("details.txt"))
    return tests


if __name__ == "__main__":
    unittest.main()
