"""Train a network of two layers in NumPy on noisy images, and save its weights: a model that knows nothing of certspec.

    python train.py IMAGES LABELS OUT.npz HEIGHT WIDTH CHANNELS SIGMA EPOCHS HIDDEN

IMAGES holds bytes, image after image, height × width × channel; LABELS a byte per image, 0 to 9. Noise of standard deviation SIGMA is added to
values in 0 to 1; then they are normalised to -1 to 1, as (value - 0.5) / 0.5.
"""
import os
import sys

import numpy as np

images, labels, out = sys.argv[1:4]
shape = tuple(map(int, sys.argv[4:7]))
sigma, epochs, hidden = np.float32(sys.argv[7]), int(sys.argv[8]), int(sys.argv[9])
values = int(np.prod(shape))
images = np.fromfile(images, np.uint8).reshape(-1, values)
labels = np.fromfile(labels, np.uint8)
batch, rate, momentum = 128, 0.03, 0.9

random = np.random.default_rng(1)
weights = [random.standard_normal((values, hidden), np.float32) * np.float32((2 / values) ** 0.5), np.zeros(hidden, np.float32),
           random.standard_normal((hidden, 10), np.float32) * np.float32((1 / hidden) ** 0.5), np.zeros(10, np.float32)]
speeds = [np.zeros_like(w) for w in weights]
steps, step = epochs * (len(images) // batch), 0
for epoch in range(epochs):
    right, order = 0, random.permutation(len(images))
    for start in range(0, len(images) - batch + 1, batch):
        chosen = order[start:start + batch]
        x = images[chosen] / np.float32(255) + sigma * random.standard_normal((batch, values), np.float32)
        x = (x - np.float32(0.5)) / np.float32(0.5)
        y = np.maximum(x @ weights[0] + weights[1], 0)
        logits = y @ weights[2] + weights[3]
        right += (logits.argmax(axis=1) == labels[chosen]).sum()
        error = np.exp(logits - logits.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(batch), labels[chosen]] -= 1
        error /= batch
        back = (error @ weights[2].T) * (y > 0)
        for w, speed, gradient in zip(weights, speeds, (x.T @ back, back.sum(axis=0), y.T @ error, error.sum(axis=0))):
            speed *= np.float32(momentum)
            speed -= np.float32(rate * (1 - step / steps)) * gradient
            w += speed
        step += 1
    print(f"epoch {epoch + 1} of {epochs}: {100 * right / (len(images) // batch * batch):.1f} % of noisy images right")

with open(out + ".part", "wb") as f:
    np.savez(f, shape=shape, w1=weights[0], b1=weights[1], w2=weights[2], b2=weights[3])
os.replace(out + ".part", out)
