package engine_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// The identity is that of what computes: not of when, how fast and by which command it was trained.
func TestIdentityCoversWhatComputes(t *testing.T) {
	colour := func(m *modelfile.Model) {
		m.Card.Architecture.Shape.Channels = 3
		m.Weights = nil
		for _, described := range m.Card.Architecture.Tensors() {
			m.Weights = append(m.Weights, modelfile.Tensor{Name: described.Name, Shape: described.Shape, Values: described.Initialize(1)})
		}
	}
	with := func(more func(m *modelfile.Model)) string {
		return write(t, func(m *modelfile.Model) { colour(m); more(m) })
	}
	plain := with(func(*modelfile.Model) {})
	equal := map[string]string{
		"seconds": with(func(m *modelfile.Model) { m.Card.Seconds, m.Card.Waiting = 17, 3 }),
		"command": with(func(m *modelfile.Model) {
			m.Card.Command, m.Card.Program, m.Card.Backend = "certspec train", "v9", "xla"
		}),
		"recipe": with(func(m *modelfile.Model) { m.Card.Recipe.Seed, m.Card.Recipe.Method = 5, "macer" }),
	}
	different := map[string]string{
		"weights": with(func(m *modelfile.Model) { m.Weights[0].Values[0]++ }),
		"input":   with(func(m *modelfile.Model) { m.Card.Architecture.Input = "center" }),
	}
	for _, choice := range []string{"go", engine.ONNXRuntime} {
		t.Run(choice, func(t *testing.T) {
			if choice == engine.ONNXRuntime {
				engines.NeedONNXRuntime(t)
			}
			identity := func(path string) classifier.Identity {
				info, err := open(t, path, engine.Backend(choice)).Info()
				if err != nil {
					t.Fatal(err)
				}
				return info.Identity
			}
			same := func(a, b string) bool {
				if choice == engine.ONNXRuntime && identity(writeONNX(t, a)) == identity(writeONNX(t, b)) != (identity(a) == identity(b)) {
					t.Errorf("%s and %s: equal as model files %v, and not so as exported files", a, b, identity(a) == identity(b))
				}
				return identity(a) == identity(b)
			}
			for what, path := range equal {
				if !same(path, plain) {
					t.Errorf("with other %s the identity is %+v, without it %+v", what, identity(path), identity(plain))
				}
			}
			for what, path := range different {
				if same(path, plain) {
					t.Errorf("with other %s the identity is %+v as before", what, identity(path))
				}
			}
		})
	}
}

// A card that names another network than the weights were made for is refused.
func TestCardOfAnotherNetwork(t *testing.T) {
	path := write(t, nil)
	card := testkit.Read(t, modelfile.CardPath(path))
	os.WriteFile(modelfile.CardPath(path), bytes.Replace(card, []byte(`"name": "small-cnn"`), []byte(`"name": "resnet-8"`), 1), 0o666)
	if _, err := modelfile.Read(path); err == nil {
		t.Error("no error")
	}
}

// A finished ledger of version 2 opens and replays under the identity that it has: the one of the whole
// file or, of a model file, of the exported file with its card. An unfinished one does not go on.
func TestOldLedgersReplay(t *testing.T) {
	engines.NeedONNXRuntime(t)
	path := write(t, func(m *modelfile.Model) { m.Card.Seconds = 12; m.Card.Recipe.Sigma = new(.25) })
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	images := &dataset.Images{Name: "greys", Digest: "sha256:greys", Shape: shape}
	for i := range 4 {
		images.IDs, images.Labels = append(images.IDs, i), append(images.Labels, -1)
		images.Pixels = append(images.Pixels, bytes.Repeat([]byte{uint8(60 * i)}, 64)...)
	}
	data := source{images}
	for _, file := range []string{path, writeONNX(t, path)} {
		m := open(t, file, engine.Backend(engine.ONNXRuntime))
		former, err := m.FormerIdentities()
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(former, info.Identity) {
			t.Errorf("%s: %+v is an identity of before", file, info.Identity)
		}
		for i, id := range former {
			old := filepath.Join(t.TempDir(), "ledger")
			o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 200, Ledger: old, Seed: uint64(i)}
			if _, err := rs.Certify(t.Context(), as{m, id}, data, o); err != nil {
				t.Fatal(err)
			}
			whole := bytes.Replace(testkit.Read(t, old), []byte(`"version":3`), []byte(`"version":2`), 1)
			body := whole[:bytes.LastIndex(whole, []byte("\nsha256 "))+1]
			whole = fmt.Appendf(body, "sha256 %x\n", sha256.Sum256(body))
			os.WriteFile(old, whole, 0o666)
			if _, err := rs.Certify(t.Context(), m, data, o); err != nil {
				t.Errorf("%s, identity %d: %v", file, i, err)
			}
			if r, err := rs.Replay(t.Context(), old, m, data, rs.ReplayOptions{}); err != nil || !r.EqualIdentity || len(r.Flips) > 0 {
				t.Errorf("%s, identity %d: replay %+v, %v", file, i, r, err)
			}
			os.WriteFile(old, whole[:bytes.Index(whole, []byte("\n2 "))+1], 0o666)
			var mismatch *ledger.MismatchError
			if _, err := rs.Certify(t.Context(), m, data, o); !errors.As(err, &mismatch) {
				t.Errorf("%s, identity %d, unfinished: %v, want a *ledger.MismatchError", file, i, err)
			}
		}
	}
}

// as is a model of an older program.
type as struct {
	*engine.Model
	id classifier.Identity
}

func (m as) Info() (classifier.Info, error) {
	info, err := m.Model.Info()
	info.Identity = m.id
	return info, err
}

// A committed ledger, of whatever version, replays with the committed network. With the identity that
// it was made by all counts come again; elsewhere noise samples between two classes may fall otherwise.
func TestCommittedLedgersReplay(t *testing.T) {
	engines.NeedONNXRuntime(t)
	if os.Getenv("CERTSPEC_DATA") == "" {
		t.Skip("needs FashionMNIST and CIFAR-10: CERTSPEC_DATA names no folder")
	}
	for name, model := range map[string]string{
		"fmnist-cnn-s025-fixed":         "fmnist-cnn-s025",
		"cifar10-resnet20-s025-betting": "cifar10-resnet20-s025",
		"cifar10-resnet20-s025-C/clean": "cifar10-resnet20-s025",
	} {
		path := "../notebooks/results/" + name + ".ledger"
		run, err := rs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := dataset.OpenLike(run.Header.Data.Name, run.Header.Data.Name)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, "../notebooks/models/"+model, engine.Backend(engine.ONNXRuntime))
		r, err := rs.Replay(t.Context(), path, m, data, rs.ReplayOptions{Count: 3, Blocks: 4})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		moved := 0
		for _, flip := range r.Flips {
			moved += flip.Samples
		}
		samples := r.Blocks * run.Header.Block
		if r.Images != 3 || r.EqualIdentity && moved > 0 || 200*moved > samples {
			t.Errorf("%s: %d images, %d of %d noise samples fell otherwise, equal identity %v",
				name, r.Images, moved, samples, r.EqualIdentity)
		}
	}
}
