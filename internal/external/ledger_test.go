//go:build external

package external

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// derive reads a closed ledger of the fixed rule as its documentation says, and derives every claim
// again from the counts with SciPy.
const derive = `
import hashlib
from scipy.stats import beta, norm
data = open(arg, "rb").read()
lines = data.decode().splitlines()
header = json.loads(lines[0])
pilot = header["selection"] // header["block"]
alpha, sigma = header["rule"]["looks"][0]["alpha"], header["sigma"]
images, order, claims, published, closed, sha = {}, [], {}, {}, False, None
for line in lines[1:]:
    word = line.split()
    if sha is not None:
        raise ValueError("text after the digest")
    if word[0] == "claims":
        closed = True
    elif word[0] == "acr":
        published["acr"] = float(word[1])
    elif word[0] == "certified":
        published.setdefault("certified", []).append([float(word[1]), int(word[2])])
    elif word[0] == "sha256":
        sha = word[1] == hashlib.sha256(data[:data.rindex(b"sha256 ")]).hexdigest()
    elif closed:
        claims[int(word[0])] = word[1:]
    else:
        image, label, first, last, misses = map(int, word[:5])
        counts = dict(map(int, pair.split(":")) for pair in word[5:])
        if sum(counts.values()) + misses != (last-first)*header["block"]:
            raise ValueError("counts do not add up: " + line)
        if first == 0:
            assert last == pilot
            images[image] = {"label": label, "class": max(sorted(counts), key=counts.get) if counts else -1}
            order.append(image)
        else:
            assert first == pilot
            images[image]["k"], images[image]["n"] = counts.get(images[image]["class"], 0), (last-first)*header["block"]
answer = {"digest": sha, "claims": [], "order": order, "published": published}
correct = []
for image in order:
    have = images[image]
    k, n = have["k"], have["n"]
    lower = beta.ppf(alpha, k, n-k+1) if k else 0.0
    radius = sigma*norm.isf(beta.isf(alpha, n-k+1, k)) if k and lower > 0.5 else 0.0
    cls = have["class"] if radius > 0 else -1
    if cls == have["label"]:
        correct.append(radius)
    answer["claims"].append({"Class": int(cls), "K": k, "N": n, "Lower": float(lower), "Radius": float(radius), "Claim": claims[image]})
answer["acr"] = sum(correct)/len(order)
answer["certified"] = [[r, sum(1 for x in correct if x >= r)] for r, _ in published["certified"]]
`

func TestExternalLedger(t *testing.T) {
	images := &dataset.Images{Name: "toy/test", Shape: pixel.Shape{Height: 4, Width: 4, Channels: 1}, Classes: []string{"dark", "grey", "light"}, Digest: "sha256:toy"}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		images.IDs = append(images.IDs, 10*i)
		images.Labels = append(images.Labels, random.IntN(3))
		for range images.Shape.Len() {
			images.Pixels = append(images.Pixels, uint8(random.IntN(256)))
		}
	}
	path := filepath.Join(t.TempDir(), "toy.ledger")
	_, err := rs.Certify(context.Background(), classifier.Step{Shape: images.Shape, Thresholds: []float64{0.3, 0.7}}, source{images},
		rs.Options{Sigma: 0.25, Rule: rs.Fixed, MaxSamples: 2000, Seed: 5, Ledger: path})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Digest bool
		Order  []int
		Claims []struct {
			Class, K, N   int
			Lower, Radius float64
			Claim         []string
		}
		Published struct {
			ACR       float64
			Certified [][2]float64
		}
		ACR       float64
		Certified [][2]float64
	}
	python(t, derive, path, &got)
	if !got.Digest || len(got.Claims) != images.Len() {
		t.Fatalf("digest %v, %d claims of %d", got.Digest, len(got.Claims), images.Len())
	}
	certified := 0
	for i, c := range got.Claims {
		want := []string{strconv.Itoa(c.Class), strconv.Itoa(c.K), strconv.Itoa(c.N)}
		for j, word := range want {
			if c.Claim[j] != word {
				t.Errorf("image %d: claim %q, SciPy derives %q", got.Order[i], c.Claim, want)
			}
		}
		lower, _ := strconv.ParseFloat(c.Claim[3], 64)
		radius, _ := strconv.ParseFloat(c.Claim[4], 64)
		if lower > c.Lower*(1+1e-10) || lower < c.Lower*(1-1e-8) || radius > c.Radius*(1+1e-10) || radius < c.Radius*(1-1e-7)-1e-8 {
			t.Errorf("image %d: lower bound %v, radius %v claimed; SciPy %v, %v", got.Order[i], lower, radius, c.Lower, c.Radius)
		}
		if c.Class >= 0 {
			certified++
		}
	}
	if certified < 20 || certified == len(got.Claims) {
		t.Errorf("%d of %d images certified; the test wants some of each", certified, len(got.Claims))
	}
	if d := got.ACR - got.Published.ACR; d < 0 || d > 1e-8 {
		t.Errorf("ACR %.10f published, SciPy %.10f", got.Published.ACR, got.ACR)
	}
	for i, c := range got.Certified {
		if got.Published.Certified[i] != c {
			t.Errorf("certified accuracy: %v published, SciPy counts %v", got.Published.Certified[i], c)
		}
	}
}

type source struct{ images *dataset.Images }

func (s source) Load(context.Context) (*dataset.Images, error) { return s.images, nil }
