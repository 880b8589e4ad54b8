//go:build external

package external

import (
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// OpenVINO, installed, gives the classes of ONNX Runtime in float32 for 99.9 % of noise samples, from more callers than
// it has streams for; it leaves the arithmetic of a thread as it was; a ledger of it goes on with itself alone; and a
// precision that this processor lacks is refused.
func TestExternalOpenVINO(t *testing.T) {
	engines.NeedONNXRuntime(t)
	if _, err := openvino.Install(t.Context(), progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	open := func(choice string) *engine.Model {
		m, err := engine.Open("../../notebooks/models/fmnist-cnn-s025", engine.Backend(choice))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	set, err := dataset.Open("synthetic/test[count=20,channels=grey,crop=28]")
	if err != nil {
		t.Fatal(err)
	}
	images, err := set.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	grid, err := noise.NewGrid(0.25)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	onnx, vino, differ := open(engine.ONNXRuntime), open(engine.OpenVINO), 0
	batch := classifier.Batch{N: n, Grid: make([]int16, n*images.Shape.Len())}
	answers := func(m *engine.Model) classifier.Result {
		t.Helper()
		result := classifier.Result{Classes: make([]int32, n), Logits: make([]float32, n*10)}
		if err := m.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	for i := range images.Len() {
		base := make([]int16, images.Shape.Len())
		for j, v := range images.Image(i) {
			base[j] = int16(v)
		}
		if _, err := grid.AddTo(batch.Grid, base, noise.Address{Seed: 1, Image: uint64(i)}, 0, nil); err != nil {
			t.Fatal(err)
		}
		want := answers(onnx).Classes
		for k, c := range answers(vino).Classes {
			if c != want[k] {
				differ++
			}
		}
	}
	t.Logf("%d of %d classes differ", differ, n*images.Len())
	if differ*1000 > n*images.Len() {
		t.Errorf("%d of %d classes differ", differ, n*images.Len())
	}
	if tiny := math.Float32frombits(uint32(len(images.Pixels))); tiny*0.5 == 0 {
		t.Error("the thread takes subnormal numbers for zeros")
	}

	options := rs.Options{Sigma: 0.25, MaxSamples: 200, Seed: 1, Workers: 5, Ledger: filepath.Join(t.TempDir(), "ledger")}
	run, err := rs.Certify(t.Context(), vino, set, options)
	if err != nil {
		t.Fatal(err)
	}
	if id := run.Header.Model.Identity; id.Engine != "openvino" ||
		!strings.HasPrefix(id.EngineVersion, openvino.Version+" cpu, precision=f32, graph ") {
		t.Errorf("identity %+v", id)
	}
	if _, err := rs.Certify(t.Context(), onnx, set, options); err == nil || !strings.Contains(err.Error(), "openvino") {
		t.Errorf("another engine goes on with the ledger: %v", err)
	}
	for _, precision := range openvino.Precisions[1:] {
		other := open(engine.OpenVINO + ",precision=" + precision)
		switch info, err := other.Info(); {
		case err != nil && !strings.Contains(err.Error(), "take precision=f32"):
			t.Errorf("%s: %v", precision, err)
		case err == nil && (!strings.Contains(info.Identity.EngineVersion, "precision="+precision) ||
			slices.Equal(answers(other).Logits, answers(vino).Logits)):
			t.Errorf("%s computes as f32, as %+v", precision, info.Identity)
		}
	}
}
