package feedforward

import (
	"math"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

func several(d *drawing, op, from string, to []string, attributes ...onnxfile.Attribute) *drawing {
	d.node(op, from+" -> ", attributes...)
	d.nodes[len(d.nodes)-1].Outputs = to
	return d
}

// Operators that take values of a result to other places. The values are worked out by hand.
func TestMovesOfResults(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	row := func() *drawing { return draw(1, 6).ints("two", 2).ints("end", 1<<62).ints("one", 1).ints("back", -1) }
	several(row(), "Split", "x", []string{"a", "y"}, whole("axis", 1), whole("num_outputs", 2)).of(18).
		gives(t, x, Shape{3}, 4, 5, 6)
	several(row().ints("s", 1, 4, 1), "Split", "x s", []string{"y", "b", "c"}, whole("axis", -1)).
		gives(t, x, Shape{1}, 1)
	row().node("Slice", "x two end one -> y").gives(t, x, Shape{4}, 3, 4, 5, 6)
	row().ints("low", -1<<40).node("Slice", "x back low one back -> y").gives(t, x, Shape{6}, 6, 5, 4, 3, 2, 1)
	row().ints("p", 5, -6, 5).node("Gather", "x p -> y", whole("axis", 1)).gives(t, x, Shape{3}, 6, 1, 6)

	mask := onnxfile.NewTensor("m", []uint8{1, 0, 0, 1, 1, 0}, 6)
	mask.SetRaw(onnxfile.Bool, mask.Raw)
	row().tensor(mask).floats("c", nil, 9).node("Where", "m x c -> y").gives(t, x, Shape{6}, 1, 9, 9, 4, 5, 9)
	row().tensor(mask).floats("c", nil, 9).node("Where", "m c x -> y").gives(t, x, Shape{6}, 9, 2, 3, 9, 9, 6)

	// Adaptive pooling of one channel of 2 × 3 to 1 × 2, in windows of 2 × 2, as PyTorch writes it.
	adaptive := func() *drawing {
		return draw(1, 1, 2, 3).tensor(onnxfile.NewTensor("p", []int64{0, 0, 0, 1, 0, 1, 0, 2, 1, 0, 1, 1, 1, 1, 1, 2}, 1, 2,
			2, 2, 2)).ints("axes", -3, -1).node("Transpose", "x -> t", ints("perm", 2, 3, 0, 1)).node("GatherND", "t p -> g")
	}
	adaptive().of(18).node("Transpose", "g -> w", ints("perm", 4, 5, 0, 1, 2, 3)).
		node("ReduceMean", "w axes -> y", whole("keepdims", 0)).gives(t, x, Shape{1, 1, 2}, 3, 4)
	adaptive().node("Relu", "g -> y").refused(t, "has the batch at axis 4")
}

// A batch of any size keeps its images: what takes some of them is refused.
func TestBatchIsNotTakenApart(t *testing.T) {
	open := func() *drawing { return draw(0, 4).ints("zero", 0).ints("one", 1).ints("end", 1<<40) }
	open().node("Slice", "x zero one zero -> y").refused(t, "some images of a batch")
	open().node("Gather", "x zero -> y").refused(t, "some images of a batch")
	several(open(), "Split", "x", []string{"y"}).of(13).refused(t, "splits the batch")
	open().node("Slice", "x zero end zero -> y").gives(t, []float64{1, 2, 3, 4}, Shape{4}, 1, 2, 3, 4)
	open().node("Transpose", "x -> y").refused(t, "the batch at axis 1")
	draw(0, 1).node("Transpose", "x -> a").node("Softmax", "a -> y").refused(t, "the batch at axis 1")
	draw(1, 1).node("Transpose", "x -> a").node("LogSoftmax", "a -> y").refused(t, "the batch at axis 1")
}

// HardSigmoid and HardSwish at places where they bend and between, by their definitions.
func TestHardFunctions(t *testing.T) {
	x := []float64{-4, -3, 0, 1.5, 3, 5}
	draw(1, 6).node("HardSwish", "x -> y").gives(t, x, Shape{6}, 0, 0, 0, 1.125, 3, 5)
	draw(1, 6).node("HardSigmoid", "x -> y", real("alpha", 0.25)).gives(t, x, Shape{6}, 0, 0, 0.5, 0.875, 1, 1)
	draw(1, 6).node("Sigmoid", "x -> s").node("Mul", "s x -> p").node("Mul", "s p -> q").node("Sub", "p p -> y").
		gives(t, x, Shape{6}, 0, 0, 0, 0, 0, 0)
}

// Outputs that differ in what a layer takes have other digests.
func TestDigestCoversPlaces(t *testing.T) {
	digest := func(places ...int64) string {
		n, err := draw(1, 4).ints("p", places...).node("Gather", "x p -> y", whole("axis", 1)).read()
		if err != nil {
			t.Fatal(err)
		}
		return n.Digest()
	}
	if digest(0, 1) == digest(0, 2) {
		t.Error("equal digests of Gather at other places")
	}
}

// Bounds on a product hold at the corners of its box, and are exact there by intervals.
func TestProductAtCorners(t *testing.T) {
	b := NewBuilder(2)
	one := b.Pad(0, []int{0}, []int{-1}, 0)
	n, err := b.Network(b.Product(one, b.Pad(0, []int{-1}, []int{0}, 0)))
	if err != nil {
		t.Fatal(err)
	}
	box := Box{Lower: []float64{-1, 2}, Upper: []float64{3, 5}}
	for method, want := range map[Method][2]float64{IBP: {15, 5}, CROWN: {15, 5}} {
		for _, a := range []Arithmetic{Plain, Rigorous} {
			u, err := n.LinearBounds(t.Context(), box, []float64{1, -1}, []float64{0, 0}, method, a)
			if err != nil || !near(u[0], want[0], 1e-5) || !near(u[1], want[1], 1e-5) {
				t.Errorf("%s: %v, %v; expected %v", method, u, err, want)
			}
		}
	}
}

// Constants stand before, between and behind results.
func TestConcatWithConstants(t *testing.T) {
	d := func() *drawing {
		return draw(1, 2).floats("c", []int64{1, 1}, 7).floats("d", []int64{1, 2}, 8, 9)
	}
	d().node("Concat", "c x d x -> y", whole("axis", -1)).gives(t, []float64{1, 2}, Shape{7}, 7, 1, 2, 8, 9, 1, 2)
	d().node("Concat", "x c -> y", whole("axis", 0)).refused(t, "another than that of the batch")
	d().floats("e", []int64{2, 1}, 1, 2).node("Concat", "x e -> y", whole("axis", 1)).refused(t, "with one image")
	d().floats("e", []int64{1, 1, 1}, 1).node("Concat", "x e -> y", whole("axis", 1)).refused(t, "of rank 2")
	d().floats("e", []int64{1, 1}, float32(math.Inf(1))).node("Concat", "x e -> y", whole("axis", 1)).refused(t, "weight 0 is +Inf")
	digest := func(v float32) string {
		n, err := draw(1, 2).floats("c", []int64{1, 1}, v).node("Concat", "x c -> y", whole("axis", 1)).read()
		if err != nil {
			t.Fatal(err)
		}
		return n.Digest()
	}
	if digest(1) == digest(2) {
		t.Error("equal digests of Concat with other constants")
	}
}

// What has no layer is named, with what takes the file, before what its absence makes of the nodes in front.
func TestMissingLayersAreNamedFirst(t *testing.T) {
	draw(1, 4).floats("c", []int64{1, 4}, 1, 2, 3, 4).node("Concat", "x c -> a", whole("axis", 1)).
		node("LayerNormalization", "a c -> y").
		refused(t, `node 1 "" (LayerNormalization): no layer of this kind, so bounds and gradients of the file cannot be `+
			`had; certify takes it as it is, through ONNX Runtime`)
}
