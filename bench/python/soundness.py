"""Certifies the classifiers of `go run ./bench soundness`, which has their exact values, by other software.

Reads {"procedure": "textbook" or "ART", "seed", "classifiers": […], "sigma", "alpha", "selection", "n", "trials"} from
standard input, and writes [[[class, radius] per trial] per classifier]; class −1 abstains.
"""

import base64
import json
import sys
import warnings

import numpy as np
from scipy.stats import beta, norm

BATCH = 400  # noise samples in one call, as in the code of Cohen et al. (2019)


class Network:
    """Logits of one of the classifiers for an array of float32 images, one a row."""

    def __init__(self, known, seed):
        self.kind, self.given, self.classes, self.before = known["kind"], known["with"], known["classes"], known["before"]
        image = np.frombuffer(base64.b64decode(known["image"]), np.uint8).astype(np.float32) / np.float32(255)
        self.image = (image - np.float32(0.5)) / np.float32(0.25) if self.before else image
        self.answers = 0
        self.random = np.random.default_rng((seed, 1))

    def __call__(self, x):
        n, w = len(x), self.given
        logits = np.zeros((n, self.classes), np.float32)
        if self.before:
            x = x * np.float32(0.25) + np.float32(0.5)
        z = np.clip(np.rint(255 * x.astype(np.float64)), -255, 510)
        v = z[:, 0]
        match self.kind:
            case "half":
                c = v > w[0]
            case "oblique":
                c = w[0] * v + w[1] * z[:, 1] > w[2]
            case "slab":
                c = (w[0] < v) & (v < w[1])
            case "steps":
                c = sum(v > t for t in np.asarray(w))
            case "ball":
                c = (v - w[0]) ** 2 + (z[:, 1] - w[1]) ** 2 < w[2] ** 2
            case "wave":
                c = z[:, 1] > w[0] + w[1] * np.sin(2 * np.pi * v / w[2])
            case "and":
                c = (v > w[0]) & (z[:, 1] > w[1])
            case "xor":
                c = (v > w[0]) == (z[:, 1] > w[1])
            case "parity":
                c = v.astype(int) & 1
            case "equal":
                return logits
            case "large":
                logits[:, 0], logits[:, 1] = 1e8, np.float32(1e8) + (v / 255).astype(np.float32)
                return logits
            case "constant":
                c = np.zeros(n)
            case "cancel":
                logits[:, 1] = (v.astype(np.float32) + np.float32(2**27)) - np.float32(2**27) - np.float32(w[0])
                return logits
            case "float32":
                y = x[:, 0].astype(np.float64)
                c = y.astype(np.float32) == y
            case "multiple":
                y = np.ldexp(x[:, 0].astype(np.float64), 32)
                c = np.trunc(y) == y
            case "nan":
                logits[:, 0] = 1
                logits[v > w[0], -1] = np.nan
                return logits
            case "mean":
                c = np.full(n, v.mean() > w[0])
            case "place":
                c = np.arange(n) > 0
            case "coin":
                c = np.full(n, self.random.random() > w[0])
            case "drift":
                c = ((self.answers + 1 + np.arange(n)) // w[0] + 1) % 2
                self.answers += n
        logits[np.arange(n), np.asarray(c).astype(int)] = 1
        return logits


def textbook(known, seed, sigma, alpha, selection, n, trials):
    """CERTIFY of Cohen et al. (2019), section 3.2.2, with noise in float32."""
    network, random = Network(known, seed), np.random.default_rng(seed)

    def counts(number):
        votes = np.zeros(network.classes, int)
        while number > 0:
            size = min(number, BATCH)
            number -= size
            batch = np.repeat(network.image[None], size, 0)
            batch = batch + random.standard_normal(batch.shape, dtype=np.float32) * np.float32(sigma)
            votes += np.bincount(network(batch).argmax(1), minlength=network.classes)
        return votes

    for _ in range(trials):
        chosen = counts(selection).argmax()
        hits = counts(n)[chosen]
        lower = beta.ppf(alpha, hits, n - hits + 1) if hits else 0
        yield [-1, 0] if lower < 0.5 else [int(chosen), sigma * float(norm.ppf(lower))]


def toolbox(known, seed, sigma, alpha, selection, n, trials):
    """The randomized smoothing of the Adversarial Robustness Toolbox."""
    from art.estimators.certification.randomized_smoothing import NumpyRandomizedSmoothing
    from art.estimators.classification import BlackBoxClassifier

    np.random.seed(seed)
    network = Network(known, seed)
    classifier = BlackBoxClassifier(network, input_shape=network.image.shape, nb_classes=network.classes)
    classifier.channels_first = False  # which the wrapper wants to know, and has no effect here
    smoothed = NumpyRandomizedSmoothing(classifier, sample_size=selection, scale=sigma, alpha=alpha)
    for _ in range(trials):
        (chosen,), (radius,) = smoothed.certify(network.image[None], n=n, batch_size=BATCH)
        yield [int(chosen), float(radius)]


def main():
    asked = json.load(sys.stdin)
    known, procedure = asked.pop("classifiers"), {"textbook": textbook, "ART": toolbox}[asked.pop("procedure")]
    warnings.simplefilter("ignore")
    json.dump([list(procedure(k, **asked)) for k in known], sys.stdout)


main()
