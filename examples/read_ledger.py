"""Read a closed ledger of certspec with Python's standard library alone: python read_ledger.py FILE [RADIUS ...]

The documentation of the Go package rs/ledger has the format.
"""
import hashlib
import json
import sys

# Every key of a header, in its order; * marks those that stand there only where they have a value.
KEYS = {
    "": "format version program model data sigma noise seed seed_chosen alpha selection block rule order *shard *scores",
    "program": "version *commit", "model": "name shape classes identity", "shape": "height width channels",
    "identity": "weights engine engine_version threads instruction_set", "data": "name digest images",
    "rule": "name *tolerance *relative looks *sizes *targets *futility budget", "looks": "copies alpha",
    "sizes": "hits copies", "targets": "radius probability", "shard": "by index count",
}


def check_keys(pairs, name=""):
    """Readers differ on a key that comes twice or in another case: so every known key stands there once, in order, and no other."""
    have, allowed = [key for key, _ in pairs], KEYS[name].split()
    want = [key.lstrip("*") for key in allowed if key[0] != "*" or key[1:] in have]
    if have != want:
        raise ValueError(f"header: the keys of {name or 'the first line'} are {have}, want {want}")
    for key, value in pairs:
        for item in value if isinstance(value, list) else [value]:
            if key in KEYS:
                check_keys(getattr(item, "pairs", []), key)


class Pairs(dict):
    """A JSON object that remembers the keys that it was written with."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


def read_header(line):
    header = json.loads(line, object_pairs_hook=Pairs)
    check_keys(header.pairs)
    if header["format"] != "certspec-ledger" or header["version"] not in (1, 2, 3):
        raise ValueError("not the header of a ledger of version 1 to 3")
    return header


def read(path):
    """The header, the looks and the claims of a closed ledger, whose digest is checked."""
    with open(path, "rb") as f:
        data = f.read()
    body, found, digest = data.rpartition(b"sha256 ")
    if not found or hashlib.sha256(body).hexdigest() != digest.decode().strip():
        raise ValueError(f"{path} is not closed, or was changed")
    header, *lines = body.decode().splitlines()
    looks, claims, closed = [], {}, False
    for word in map(str.split, lines):
        if word[0] == "claims":
            closed = True
        elif not closed:
            image, label, first, last, misses = map(int, word[:5])
            counts = {int(c): int(n) for c, n in (pair.split(":") for pair in word[5:])}
            looks.append({"image": image, "label": label, "blocks": (first, last), "misses": misses, "counts": counts})
        elif word[0] not in ("acr", "certified"):
            claims[int(word[0])] = {"class": int(word[1]), "k": int(word[2]), "n": int(word[3]),
                                    "lower": float(word[4]), "radius": float(word[5])}
    return read_header(header), looks, claims


def main(path, *radii):
    header, looks, claims = read(path)
    labels = {look["image"]: look["label"] for look in looks if look["label"] >= 0}
    correct = [c["radius"] for image, c in claims.items() if image in labels and c["class"] == labels[image]]
    print("model", header["model"]["name"])
    print("images", len(claims))
    print("abstained", sum(c["class"] < 0 for c in claims.values()))
    print("acr", sum(correct) / len(labels))
    for radius in map(float, radii or (0, 0.25, 0.5)):
        print("certified", radius, sum(r >= radius for r in correct) / len(labels))


if __name__ == "__main__":
    main(*sys.argv[1:])
