"""The Python package beside the loop that people write: one contender in a process of its own.

python package.py CONTENDER NET IMAGES SAMPLES prints what it took, as JSON. Start and warm-up do not
count; processor time includes the program's.
"""

import json
import os
import resource
import sys
import tempfile
import time

import numpy as np

SIGMA = 0.25
BATCHES = {"plain": 100, "plain1000": 1000}


def spent():
    """Processor seconds of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peaks():
    """Greatest resident memory, MiB: of this process, of the largest child."""
    return [resource.getrusage(who).ru_maxrss / 1024
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def network(name):
    import torch
    from torch_nets import build

    torch.set_num_threads(1)
    module, shape = build(name)
    return module.eval(), shape


def loop(module, images, samples, batch):
    """Cohen et al. (2019): noise, classes, counts, for the selection and for the bound."""
    import torch

    counts = []
    with torch.inference_mode():
        for image in torch.from_numpy(images).float() / 255:
            for total in (100, samples):
                votes = torch.zeros(10, dtype=torch.long)
                for at in range(0, total, batch):
                    x = image.expand(min(batch, total - at), *image.shape)
                    rows = module(x + SIGMA * torch.randn(x.shape))
                    votes += torch.bincount(rows.argmax(1), minlength=10)
            counts.append(votes)
    return counts


def contender(name, net, images, samples):
    """What to run, after a warm-up."""
    import certspec

    module, shape = network(net)
    random = np.random.default_rng(1)
    pixels = random.integers(0, 256, (images, *shape), dtype=np.uint8)
    settings = dict(sigma=SIGMA, rule="fixed", progress=False, workers=1, image_layout="chw")
    folder = tempfile.mkdtemp()
    model = module
    if name in BATCHES:
        return lambda n: loop(module, pixels if n > 100 else pixels[:1], n, BATCHES[name])
    if name == "art":
        import torch
        from art.estimators.certification.randomized_smoothing import PyTorchRandomizedSmoothing

        smoothed = PyTorchRandomizedSmoothing(
            model=module, loss=torch.nn.CrossEntropyLoss(), input_shape=shape, nb_classes=10,
            clip_values=(0, 1), sample_size=100, scale=SIGMA, alpha=0.001, device_type="cpu")
        x = pixels.astype(np.float32) / 255
        return lambda n: smoothed.certify(x if n > 100 else x[:1], n=n, batch_size=1000)
    if name == "onnx":
        model = certspec.export_onnx(module, os.path.join(folder, "net.onnx"), shape=(*shape[1:], shape[0]))
        import torch

        settings["options"] = ["--threads", "1"]
    return lambda n: certspec.certify(model, pixels if n > 100 else pixels[:1], None, n=n, **settings)


def device(blocks=60, delay=0.1):
    """A device with a known delay for a block of 1,000: its time over the whole run's."""
    import certspec

    calls = []

    def model(batch):
        calls.append(len(batch))
        time.sleep(delay * len(batch) / 1000)
        return batch.reshape(len(batch), -1)[:, :10]

    images = np.random.default_rng(1).integers(0, 256, (blocks // 10, 3, 32, 32), dtype=np.uint8)
    begun = time.perf_counter()
    certspec.certify(model, images, None, sigma=SIGMA, n=10_000, n0=1000, block=1000, rule="fixed", progress=False,
                     image_layout="chw")
    wall = time.perf_counter() - begun
    return {"ratio": delay * sum(calls) / 1000 / wall, "wall": wall, "blocks": len(calls)}


def memory(images=10_000):
    """What 10,000 images of CIFAR's size, given as float32, take beyond the start."""
    import certspec

    certspec.certify(lambda x: x.reshape(len(x), -1)[:, :10], np.zeros((1, 3, 32, 32), np.uint8), None, sigma=SIGMA,
                     n=100, n0=100, rule="fixed", progress=False)
    before = peaks()
    floats = np.empty((images, 3, 32, 32), np.float32)
    floats[:] = np.random.default_rng(1).integers(0, 256, (1, 3, 32, 32)) / np.float32(255)
    try:
        certspec.certify(lambda x: np.zeros(len(x), int), floats, None, sigma=SIGMA, n=100, n0=100, rule="fixed",
                         progress=False, output="classes", classes=10)
    finally:
        after = peaks()
    size = floats.nbytes / 2**20
    return {"given": size, "python": after[0] - before[0], "program": after[1] - before[1],
            "ratio": (after[0] - before[0]) / size}


def calibration(name, rows=10_000, classes=10):
    """The expected calibration error of probabilities that one has."""
    import certspec
    import torch
    from torchmetrics.classification import MulticlassCalibrationError

    random = np.random.default_rng(1)
    probabilities = random.dirichlet(np.ones(classes), rows)
    labels = random.integers(0, classes, rows)
    if name == "ece":
        return lambda n: certspec.ece(probabilities[:n], labels[:n])
    metric = MulticlassCalibrationError(classes, n_bins=15)
    both = torch.from_numpy(probabilities), torch.from_numpy(labels)
    return lambda n: metric(both[0][:n], both[1][:n]).item()


def main():
    name, net, images, samples = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if name in ("device", "memory"):
        found = device() if name == "device" else memory()
    else:
        metric = name in ("ece", "torchmetrics")
        run = calibration(name) if metric else contender(name, net, images, samples)
        run(100)
        begun, clock = spent(), time.perf_counter()
        run(samples)
        found = {"processor": spent() - begun, "wall": time.perf_counter() - clock}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
