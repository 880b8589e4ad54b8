package strength_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/strength"
)

var shape = pixel.Shape{Height: 8, Width: 8, Channels: 3}

type source struct{ *imageset.Images }

func (s source) Load(context.Context) (*imageset.Images, error) { return s.Images, nil }

// images draws some.
func images(n int) source {
	im := &imageset.Images{Name: "drawn", Shape: shape, Classes: []string{"a", "b", "c"}}
	r := rand.New(rand.NewPCG(5, 0))
	for i := range n {
		im.IDs, im.Labels = append(im.IDs, 10*i), append(im.Labels, i%3-1)
		for range shape.Len() {
			im.Pixels = append(im.Pixels, uint8(r.IntN(256)))
		}
	}
	im.Digest = im.ContentDigest()
	return source{im}
}

// planted is a model that has class 0 everywhere but at some images, and counts what it is asked.
type planted struct {
	at    map[string]int32
	asked *atomic.Int64
	stop  int64 // after so many calls it fails; 0: never
}

func (planted) Info() (classifier.Info, error) {
	return classifier.Info{Name: "planted", Shape: shape, Classes: 3, Identity: classifier.Identity{Weights: "test"}}, nil
}

var errStopped = errors.New("stopped")

func (p planted) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	if n := p.asked.Add(1); p.stop > 0 && n > p.stop {
		return errStopped
	}
	size := shape.Len()
	image := make([]byte, size)
	for i := range batch.N {
		for k, v := range batch.Grid[i*size : (i+1)*size] {
			image[k] = byte(v)
		}
		result.Classes[i] = p.at[string(image)]
	}
	return nil
}

func strengths(t *testing.T, text string) corrupt.Strengths {
	t.Helper()
	s, err := corrupt.ParseStrengths(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prove(t *testing.T, m classifier.Classifier, data imageset.Source, o strength.Options) *strength.File {
	t.Helper()
	f, err := strength.Prove(t.Context(), m, data, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A flip at a single strength is found wherever it stands, also at one where five equally spaced
// strengths see none, and at a crossing of contrast, where one image stands at one real number
// alone.
func TestPlantedFlips(t *testing.T) {
	data := images(1)
	for _, text := range []string{"brightness=-20:30", "jpeg=40:100", "shift=-2:2", "contrast=0.98:1.03"} {
		over := strengths(t, text)
		o, err := over.Orbits(shape)
		if err != nil {
			t.Fatal(err)
		}
		order, own := map[int]int{}, map[int]string{}
		for i, shown := range o.Outward(data.Image(0)) {
			if order[i] = len(order); shown != nil {
				own[i] = string(bytes.Clone(shown))
			}
		}
		step := max(1, len(own)/40)
		for i, image := range own {
			if i%step != 0 || image == string(data.Image(0)) {
				continue
			}
			m := planted{at: map[string]int32{image: 2}, asked: new(atomic.Int64)}
			f := prove(t, m, data, strength.Options{Over: over})
			l := f.Lines[0]
			if l.Proven() || l.Flip.Theta != o.Theta(i) || l.Flip.Class != 2 || f.Claims.Proven != 0 {
				t.Errorf("%s: planted at %s, found %+v", text, o.Theta(i), l.Flip)
			}
			if l.Asked > order[i]+1 {
				t.Errorf("%s: %d asked up to %s", text, l.Asked, o.Theta(i))
			}
		}
		m := planted{asked: new(atomic.Int64)}
		f := prove(t, m, data, strength.Options{Over: over})
		if l := f.Lines[0]; !l.Proven() || l.From != o.Theta(0) || l.To != o.Theta(o.Len()-1) || l.Asked != len(own) || l.Same != len(o.Spaced(5)) {
			t.Errorf("%s: a constant model, %+v", text, l)
		}
	}
}

// Misses prove nothing: neither one of the image itself, nor one at a strength.
func TestMisses(t *testing.T) {
	data := images(2)
	first := string(data.Image(0))
	second := bytes.Clone(data.Image(1))
	for i, v := range second {
		second[i] = byte(min(int(v)+3, 255))
	}
	m := planted{at: map[string]int32{first: classifier.Miss, string(second): classifier.Miss}, asked: new(atomic.Int64)}
	f := prove(t, m, data, strength.Options{Over: strengths(t, "brightness=-5:5")})
	if l := f.Lines[0]; l.Proven() || l.Class != -1 || l.Asked != 0 || l.From != "" {
		t.Errorf("%+v", l)
	}
	if l := f.Lines[1]; l.Proven() || l.Flip.Theta != "3" || l.Flip.Class != -1 || l.From != "-2" || l.To != "2" || l.Asked != 6 {
		t.Errorf("%+v", l)
	}
}

// A file that was stopped anywhere goes on, and ends with the bytes of one that was not.
func TestResume(t *testing.T) {
	data, folder := images(9), t.TempDir()
	o := strength.Options{Over: strengths(t, "brightness=-40:40"), File: filepath.Join(folder, "whole.strength"), Workers: 1}
	at := map[string]int32{}
	for i := range 3 {
		image := bytes.Clone(data.Image(3 * i))
		for k, v := range image {
			image[k] = byte(max(int(v)-7*i-1, 0))
		}
		at[string(image)] = int32(i)
	}
	prove(t, planted{at: at, asked: new(atomic.Int64)}, data, o)
	want := testkit.Read(t, o.File)
	for stop := int64(1); stop < 12; stop++ {
		o.File, o.Workers = filepath.Join(folder, fmt.Sprint(stop)), int(stop)%3+1
		if _, err := strength.Prove(t.Context(), planted{at, new(atomic.Int64), stop}, data, o); !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		half, err := os.ReadFile(o.File)
		if err != nil || !bytes.HasPrefix(want, half) {
			t.Fatalf("after %d calls: %v\n%s", stop, err, half)
		}
		prove(t, planted{at: at, asked: new(atomic.Int64)}, data, o)
		if got, err := os.ReadFile(o.File); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("after %d calls and a second run: %v\n%s", stop, err, got)
		}
	}
	for cut := range len(want) { // a power cut at every byte
		testkit.Write(t, want[:cut], o.File)
		if cut%50 == 0 || cut > len(want)-160 {
			prove(t, planted{at: at, asked: new(atomic.Int64)}, data, o)
			if got, err := os.ReadFile(o.File); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("cut at %d: %v\n%s", cut, err, got)
			}
		} else if _, err := strength.Read(o.File); err != nil && cut > bytes.IndexByte(want, '\n') {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	m := planted{asked: new(atomic.Int64)}
	o.Over = strengths(t, "brightness=-41:40")
	var other *strength.MismatchError
	if _, err := strength.Prove(t.Context(), m, data, o); !errors.As(err, &other) || other.Field != "over" || m.asked.Load() != 0 {
		t.Errorf("%v", err)
	}
	// Every change of one byte is noticed.
	for i := range want {
		altered := bytes.Clone(want)
		altered[i] ^= 1
		testkit.Write(t, altered, o.File)
		if f, err := strength.Read(o.File); err == nil && f.Claims != nil {
			t.Fatalf("byte %d, %q, was altered to %q", i, want[i], altered[i])
		}
	}
}

// Replay finds a line that was altered, and another model.
func TestReplay(t *testing.T) {
	data := images(4)
	m := planted{asked: new(atomic.Int64)}
	f := prove(t, m, data, strength.Options{Over: strengths(t, "jpeg=60:100")})
	r, err := strength.Replay(t.Context(), f, m, data, 0, nil)
	if err != nil || r.Images != 4 || len(r.Different) != 0 || !r.EqualIdentity {
		t.Fatalf("%+v, %v", r, err)
	}
	f.Lines[2].Asked--
	if r, err = strength.Replay(t.Context(), f, m, data, 0, nil); err != nil || len(r.Different) != 1 || r.Different[0] != 20 {
		t.Errorf("%+v, %v", r, err)
	}
	f.Header.Model.Identity.Weights = "other"
	if _, err = strength.Replay(t.Context(), f, m, data, 0, nil); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("%v", err)
	}
}

func TestProveRefuses(t *testing.T) {
	m := planted{asked: new(atomic.Int64)}
	o := strength.Options{Over: strengths(t, "jpeg=60:100")}
	wide := images(2)
	wide.Shape.Height, wide.Shape.Width = 4, 16
	off := images(2)
	off.Offsets = make([]int16, len(off.Pixels))
	label := images(2)
	label.Labels[1] = 3
	for name, data := range map[string]source{"shape": wide, "offsets": off, "label": label, "none": images(0)} {
		if f, err := strength.Prove(t.Context(), m, data, o); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	o.Spaced = 1
	if _, err := strength.Prove(t.Context(), m, images(2), o); err == nil {
		t.Error("one spaced strength")
	}
	o.Spaced, o.File = 0, filepath.Join(t.TempDir(), "x")
	testkit.Write(t, []byte("my notes\n"), o.File)
	var format *strength.FormatError
	if _, err := strength.Prove(t.Context(), m, images(2), o); !errors.As(err, &format) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.File = ""
	if _, err := strength.Prove(ctx, m, images(2), o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
