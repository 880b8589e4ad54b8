"""The interface of ART's randomized smoothing, with certificates of certspec.

It takes the place of art.estimators.certification.randomized_smoothing.PyTorchRandomizedSmoothing
where only predict and certify are called:

    smoothed = CertspecSmoothing(classifier, scale=0.25)
    prediction, radius = smoothed.certify(x, n=10_000)

Images x have 8 bits, as multiples of 1/255 from 0 to 1, since the certificate is about such.
"""
import certspec
import numpy as np


class CertspecSmoothing:
    """A smoothed classifier around any classifier of ART."""

    def __init__(self, classifier, scale=0.1, alpha=0.001, sample_size=32, **settings):
        self.classifier, self.scale, self.alpha = classifier, scale, alpha
        self.sample_size = sample_size
        order = "chw" if getattr(classifier, "channels_first", False) else "hwc"
        self.given = {"layout": order, "image_layout": order, "progress": False, **settings}

    def _rows(self, batch):
        return self.classifier.predict(batch, batch_size=len(batch))

    def certify(self, x, n, batch_size=100, ledger=None):
        """Classes, -1 where it abstains, and certified radii; the ledger keeps the evidence."""
        run = certspec.certify(self._rows, x, sigma=self.scale, n=n, alpha=self.alpha, rule="fixed",
                               batch_size=batch_size, ledger=ledger, **self.given)
        columns = run.columns()
        return columns["predict"], columns["radius"]

    def predict(self, x, batch_size=100):
        """A row for each image: 1 at its class, and no 1 where it abstains."""
        found = certspec.predict(self._rows, x, sigma=self.scale, n=self.sample_size, alpha=self.alpha,
                                 batch_size=batch_size, **self.given)
        rows = np.zeros((len(found), self.classifier.nb_classes))
        for row, one in zip(rows, found):
            row[one.predict] = 1 if one.predict >= 0 else 0
        return rows
