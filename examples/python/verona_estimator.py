"""certspec as an estimator of VERONA (ada-verona), and its choice of images.

CertspecEstimator takes the place of BinarySearchEpsilonValueEstimator: for each image of an
experiment it gives the certified l2 radius of the smoothed classifier as the epsilon value.
For a whole ledger, `certspec ledger export --format verona` writes result_df.csv.
"""
import time

import certspec
import numpy as np


class CertspecEstimator:
    """Has the method of VERONA's EpsilonValueEstimator."""

    def __init__(self, sigma, n=10_000, alpha=0.001, **settings):
        self.given = {"sigma": sigma, "n": n, "alpha": alpha, "progress": False, **settings}
        self.name = f"certspec l2 sigma={sigma:g} alpha={alpha:g}"

    def compute_epsilon_value(self, verification_context):
        """The certified radius, 0 where another class or none is certified."""
        from ada_verona.database.epsilon_value_result import EpsilonValueResult

        point, begun = verification_context.data_point, time.monotonic()
        run = certspec.certify(verification_context.network.load_pytorch_model(), point.data[None],
                               [point.label], **self.given)
        columns = run.columns()
        radius = float(columns["radius"][0] * columns["correct"][0])
        return EpsilonValueResult(verification_context, radius, float("nan"),
                                  time.monotonic() - begun, self.name)


def correct_by_class(predicted, labels, per_class, seed=0):
    """Indices of images that the network itself classifies right, equally many of each class."""
    random, labels = np.random.default_rng(seed), np.asarray(labels)
    right = np.flatnonzero(np.asarray(predicted) == labels)
    found = [random.permutation(right[labels[right] == one])[:per_class] for one in np.unique(labels)]
    fewest = min(map(len, found))
    if fewest < per_class:
        raise ValueError(f"a class has {fewest} right images; expected at least {per_class}")
    return np.sort(np.concatenate(found))
