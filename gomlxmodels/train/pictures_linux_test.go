package train

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// pooled is a linear function of the mean colour of an image.
type pooled struct{}

func (pooled) Name() string { return "pooled-by-test" }
func (pooled) Layers(b *nets.Builder, x nets.Value, classes int) nets.Value {
	return b.Dense("head", b.MeanPool("pool", x), classes)
}

// A set that is larger than memory is trained on, and tested on, in whatever order.
func TestTrainOnMoreThanMemory(t *testing.T) {
	const n = 10_000 // 276 MB of pixels, all black, of which the files hold nothing
	if testing.Short() {
		t.Skip("-short: takes seconds")
	}
	if testkit.Given() == "" {
		testkit.Limited(t, "ulimit -d 270000", "1", cache.Variable+"="+t.TempDir(), "GOMAXPROCS=2", "GOMEMLIMIT=120MiB")
		return
	}
	dir := t.TempDir()
	labels := testkit.Sparse(t, filepath.Join(dir, "labels.npy"), "|u1", n)
	text, err := os.ReadFile(labels)
	if err == nil {
		text[len(text)-1] = 1
		err = os.WriteFile(labels, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open("npy:" + testkit.Sparse(t, filepath.Join(dir, "images.npy"), "|u1", n, 96, 96, 3) + "," + labels)
	if err != nil {
		t.Fatal(err)
	}
	held = 1 << 20
	nets.Register(pooled{})
	o := Options{Train: d, Test: d.Subset(dataset.Skip(9)), Out: filepath.Join(dir, "model"), Backend: "go",
		Network: "pooled-by-test", Sigma: new(0.0), Epochs: 1, BatchSize: 10,
		LearningRate: .1, Seed: 1}
	card, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if card.Accuracy < .999 || card.Train.Images != n {
		t.Errorf("%+v", card)
	}
	o.Out, o.Method, o.Network = filepath.Join(dir, "other"), "ccu", "l"
	o.More = map[string]Set{"out": {Data: d.Subset(dataset.Count(1000))}}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "[count=") {
		t.Errorf("a method that begins with all pixels: %v", err)
	}
}

// Pictures stay in memory where their set is small enough.
func TestPicturesStay(t *testing.T) {
	for _, stay := range []bool{true, false} {
		x := (&dataset.Images{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, IDs: order(5), Labels: order(5),
			Pixels: []uint8{5, 6, 7, 8, 9}}).Indexed().Take([]int{4, 2, 0})
		read, reads := x.Read, 0
		x.Read = func(ctx context.Context, i int) (*imageset.Images, error) { reads++; return read(ctx, i) }
		p := &pictureSet{Index: x}
		if stay {
			p.kept = make([]atomic.Pointer[imageset.Images], x.Len())
		}
		for range 3 {
			for i, want := range []uint8{9, 7, 5} {
				if got, err := p.image(i); err != nil || !slices.Equal(got, []uint8{want}) {
					t.Errorf("image %d: %v, %v; want %d", i, got, err, want)
				}
			}
		}
		if want := map[bool]int{true: 3, false: 9}[stay]; reads != want {
			t.Errorf("%d reads, want %d", reads, want)
		}
	}
}
