"""Steps of GOOD, Auto-PGD, and areas under the ROC curve. Form: eager, channels-last, compile, jax, float64 or sklearn."""

EPSILON, STEPS, CLASSES = 0.1, 20, 10
VERSION = ""


def prepare(form, sigma, task, net, batch):
    if task == "auc":
        return auc(), 1
    if task == "good":
        return (jax_good if form == "jax" else torch_good)(form, net, batch), batch
    return attack(form, net, batch), batch


# Channels and strides of the convolutions, and widths of the dense layers before the last.
NETS = {"small-cnn": ([(16, 1), (32, 2), (64, 2)], []), "l": ([(64, 1), (64, 1), (128, 2), (128, 1), (128, 1)], [512])}


def weights(net):
    """Kernels (out, in, 3, 3) with biases and strides, dense layers (out, in) with biases, and the pairs of the last, as arrays."""
    import numpy as np

    rng = np.random.default_rng(1)
    draw = lambda *s: (rng.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype("float32")
    convs, dense, inputs, side = [], [], 1, 28
    channels, widths = NETS[net]
    for outputs, stride in channels:
        convs.append((draw(outputs, inputs, 3, 3), draw(outputs, 1)[:, 0], stride))
        inputs, side = outputs, side // stride
    inputs *= side * side
    for outputs in widths:
        dense.append((draw(outputs, inputs), draw(outputs, 1)[:, 0]))
        inputs = outputs
    w, b = draw(CLASSES, inputs), draw(CLASSES, 1)[:, 0]
    pairs = [(k, j) for k in range(CLASSES) for j in range(k)]
    merged = np.stack([w[k] - w[j] for k, j in pairs]), np.stack([b[k] - b[j] for k, j in pairs])
    return convs, dense, merged, (w, b)


QUANTILE, KAPPA, RATE = 80, 0.3, 0.01


def good_images(batch):
    import numpy as np

    rng = np.random.default_rng(2)
    draw = lambda: rng.integers(0, 256, (batch, 28, 28, 1)).astype("float32") / 255
    return draw(), rng.integers(0, CLASSES, batch), draw()


def jax_good(form, net, batch):
    """A step of GOOD: SGD with momentum on the cross-entropy of a batch, the bounds of the out-images where these are smallest, and the
    logits of the others."""
    import jax
    import jax.numpy as jnp

    convs, dense, _, last = weights(net)
    strides = [s for _, _, s in convs]
    parameters = [jnp.asarray(w.transpose(2, 3, 1, 0)) for w, _, _ in convs], [jnp.asarray(b) for _, b, _ in convs], [(jnp.asarray(w.T), jnp.asarray(b)) for w, b in dense + [last]]
    conv = lambda x, w, s: jax.lax.conv_general_dilated(x, w, (s, s), [(1, 1), (1, 1)], dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def forward(p, x):
        for w, b, s in zip(p[0], p[1], strides):
            x = jax.nn.relu(conv(x, w, s) + b)
        x = x.reshape(len(x), -1)
        for w, b in p[2][:-1]:
            x = jax.nn.relu(x @ w + b)
        return x @ p[2][-1][0] + p[2][-1][1]

    def relu(c, r):
        l, u = jax.nn.relu(c - r), jax.nn.relu(c + r)
        return (l + u) / 2, (u - l) / 2

    upper, lower = jnp.triu_indices(CLASSES, 1)

    def widest(p, x):
        c, r = x, jnp.full((1, 28, 28, 1), EPSILON)
        for w, b, s in zip(p[0], p[1], strides):
            c, r = relu(conv(c, w, s) + b, conv(r, abs(w), s))
        c, r = c.reshape(len(c), -1), r.reshape(len(r), -1)
        for w, b in p[2][:-1]:
            c, r = relu(c @ w + b, r @ abs(w))
        w, b = p[2][-1]
        w, b = w[:, upper] - w[:, lower], b[upper] - b[lower]
        return (abs(c @ w + b) + r @ abs(w)).max(1)

    bound = lambda v: jnp.log1p(v * v / 2)
    m = batch * QUANTILE // 100

    def loss(p, x, y, out):
        p_in = jax.nn.log_softmax(forward(p, x))
        v = widest(p, out)
        order = jnp.argsort(jax.lax.stop_gradient(v), stable=True)
        f = forward(p, out[order[m:]])
        outside = bound(v[order[:m]]).sum() + bound(f.max(1) - f.min(1)).sum()
        return -jnp.take_along_axis(p_in, y[:, None], 1).mean() + KAPPA / batch * outside

    @jax.jit
    def update(p, momentum, x, y, out):
        gradient = jax.grad(loss)(p, x, y, out)
        momentum = jax.tree.map(lambda m, g, w: 0.9 * m + g + 1e-4 * w, momentum, gradient, p)
        return jax.tree.map(lambda w, m: w - RATE * m, p, momentum), momentum

    x, y, out = map(jnp.asarray, good_images(batch))
    state = [parameters, jax.tree.map(jnp.zeros_like, parameters)]

    def step():
        state[:] = update(*state, x, y, out)
        jax.block_until_ready(state[0])

    return step


def torch_good(form, net, batch):
    """As jax_good."""
    import torch
    from torch.nn import functional as F

    convs, dense, _, last = weights(net)
    layout = {"memory_format": torch.channels_last} if form == "channels-last" else {}
    t = lambda a: torch.from_numpy(a).requires_grad_(True)
    convs = [(torch.from_numpy(w).contiguous(**layout).requires_grad_(True), t(b), s) for w, b, s in convs]
    dense = [(t(w), t(b)) for w, b in dense + [last]]

    def forward(x):
        for w, b, s in convs:
            x = F.relu(F.conv2d(x, w, b, s, 1))
        x = x.flatten(1)
        for w, b in dense[:-1]:
            x = F.relu(F.linear(x, w, b))
        return F.linear(x, *dense[-1])

    def relu(c, r):
        l, u = F.relu(c - r), F.relu(c + r)
        return (l + u) / 2, (u - l) / 2

    upper, lower = torch.triu_indices(CLASSES, CLASSES, 1)

    def widest(x):
        c, r = x, torch.full((1, 1, 28, 28), EPSILON)
        for w, b, s in convs:
            c, r = relu(F.conv2d(c, w, b, s, 1), F.conv2d(r, w.abs(), None, s, 1))
        c, r = c.flatten(1), r.flatten(1)
        for w, b in dense[:-1]:
            c, r = relu(F.linear(c, w, b), F.linear(r, w.abs()))
        w, b = dense[-1]
        w, b = w[upper] - w[lower], b[upper] - b[lower]
        return (F.linear(c, w, b).abs() + F.linear(r, w.abs())).max(1).values

    bound = lambda v: torch.log1p(v * v / 2)
    m = batch * QUANTILE // 100

    def loss(x, y, out):
        own = F.cross_entropy(forward(x), y)
        v = widest(out)
        order = v.detach().argsort(stable=True)
        f = forward(out[order[m:]])
        return own + KAPPA / batch * (bound(v[order[:m]]).sum() + bound(f.max(1).values - f.min(1).values).sum())

    parameters = [p for w, b, _ in convs for p in (w, b)] + [p for pair in dense for p in pair]
    optimizer = torch.optim.SGD(parameters, RATE, 0.9, weight_decay=1e-4)
    x, y, out = good_images(batch)
    x, out = (torch.from_numpy(a).permute(0, 3, 1, 2).contiguous(**layout) for a in (x, out))
    y = torch.from_numpy(y)
    run = torch.compile(loss) if form == "compile" else loss

    def step():
        optimizer.zero_grad()
        run(x, y, out).backward()
        optimizer.step()

    return step


def attack(form, net, batch):
    """Auto-PGD of one start on the largest log-confidence, as certspec has it: best points, step sizes image by image."""
    import torch
    from torch.nn import functional as F

    convs, dense, _, (w, b) = weights(net)
    kind = torch.float64 if form == "float64" else torch.float32
    t = lambda a: torch.from_numpy(a).to(kind)
    convs, dense = [(t(w), t(b), s) for w, b, s in convs], [(t(w), t(b)) for w, b in dense + [(w, b)]]

    def net(x):
        for w0, b0, s in convs:
            x = F.relu(F.conv2d(x, w0, b0, s, 1))
        x = x.flatten(1)
        for w0, b0 in dense[:-1]:
            x = F.relu(F.linear(x, w0, b0))
        return F.linear(x, *dense[-1])

    def gradient(x):
        x = x.detach().requires_grad_(True)
        value = F.log_softmax(net(x), 1).max(1).values
        return value.detach(), torch.autograd.grad(value.sum(), x)[0]

    x = (torch.rand(batch, 1, 28, 28, dtype=kind) * 255).round() / 255
    low, high = (x - EPSILON).clamp(min=0), (x + EPSILON).clamp(max=1)
    p, checkpoints = [0, 0.22], []
    while p[-1] < 1:
        p.append(p[-1] + max(p[-1] - p[-2] - 0.03, 0.06))
    checkpoints = [-(-int(1e6 * q) * STEPS // 10**6) for q in p[1:] if q < 1]
    project = lambda z: torch.maximum(torch.minimum(z, high), low)
    each = lambda v: v.reshape(-1, 1, 1, 1)

    def step():
        z = project(x + EPSILON * (2 * torch.rand_like(x) - 1))
        value, g = gradient(z)
        best, top, steepest = z.clone(), value.clone(), g.clone()
        eta, before = torch.full((batch,), 2 * EPSILON, dtype=kind), z
        rises, last, halved, since = torch.zeros(batch), 0, torch.ones(batch, dtype=torch.bool), value.clone()
        for i in range(STEPS):
            a = 0.75 if i else 1.0
            y = project(z + each(eta) * g.sign())
            z, before = project(z + a * (y - z) + (1 - a) * (z - before)), z
            new, g = gradient(z)
            rises += new > value
            value = new
            up = value > top
            best, steepest, top = torch.where(each(up), z, best), torch.where(each(up), g, steepest), torch.where(up, value, top)
            if i + 1 in checkpoints:
                stuck = (rises <= 0.75 * (i + 1 - last)) | (~halved & (top <= since))
                eta = torch.where(stuck, eta / 2, eta)
                z, g, value = torch.where(each(stuck), best, z), torch.where(each(stuck), steepest, g), torch.where(stuck, top, value)
                rises, last, halved, since = torch.zeros(batch), i + 1, stuck, top.clone()

    return step


def auc():
    import numpy as np
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.standard_normal(10000) + 1, rng.standard_normal(26032)])
    labels = np.concatenate([np.ones(10000), np.zeros(26032)])
    return lambda: roc_auc_score(labels, scores)


def version():
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name, title in (("torch", "PyTorch"), ("jax", "JAX"), ("scikit-learn", "scikit-learn")):
        try:
            found.append(f"{title} {version(name)}")
        except PackageNotFoundError:
            pass
    return ", ".join(found)


VERSION = version()
