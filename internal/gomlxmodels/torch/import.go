package torch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
)

// ImportWeights gives the weights of a network from tensors in PyTorch's names and layouts. It
// takes the names that this package writes, and those of other public repositories: those of both
// families of RobustNets, linear for fc, dense layers as convolutions of 1×1 pixels, shortcut for
// downsample, and "1." or "model." before all names, which come of wrappers for normalisation.
// "module." and "_orig_mod." of wrappers for several devices and of torch.compile come off wherever
// they stand. The counters num_batches_tracked and n_averaged are left out; stored means and
// deviations of a wrapper must be those of the architecture's input layer.
//
// Errors name the tensors that are missing, left over or of another shape, and those with values
// that are not finite as float32 or with negative variances.
func ImportWeights(tensors []modelfile.Tensor, a nets.Architecture, shortcuts Shortcuts) ([]modelfile.Tensor, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("torch: %w", err)
	}
	byName, err := normalise(tensors, a)
	if err != nil {
		return nil, fmt.Errorf("torch: %w", err)
	}
	found := formOf(slices.Collect(maps.Keys(byName)))
	places := arrangement(a)
	if err := shortcuts.fill(byName, places); err != nil {
		return nil, fmt.Errorf("torch: %w", err)
	}
	fillNorms(byName, places)
	var weights []modelfile.Tensor
	var missing []string
	var misshapen error
	for _, p := range places {
		t, ok := byName[p.theirs]
		if !ok {
			missing = append(missing, p.theirs)
			continue
		}
		delete(byName, p.theirs)
		t = asDense(t, p)
		if !slices.Equal(t.Shape, p.shape) {
			if misshapen == nil {
				misshapen = fmt.Errorf("torch: tensor %q is of shape %v; a %s for images of %v and %d classes has %v",
					t.Name, t.Shape, a.Name, a.Shape, a.Classes, p.shape)
			}
			continue
		}
		if err := checkValues(t, strings.HasSuffix(p.ours, "/variance")); err != nil {
			return nil, fmt.Errorf("torch: %w", err)
		}
		values := make([]float32, len(t.Values))
		for i := range values {
			values[i] = t.Values[p.index(i)]
		}
		weights = append(weights, modelfile.Tensor{Name: p.ours, Shape: p.own, Values: values})
	}
	var left []string
	for _, t := range byName {
		left = append(left, t.Name)
	}
	slices.Sort(left)
	if len(missing) == 0 && len(left) == 0 {
		return weights, misshapen
	}
	return nil, fmt.Errorf("torch: the tensors are not those of a %s: %s", a.Name, mismatch(missing, left, found, a))
}

// checkValues refuses weights with which no network gives finite answers.
func checkValues(t modelfile.Tensor, variance bool) error {
	for i, v := range t.Values {
		expected := ""
		switch {
		case math.IsNaN(float64(v)) || math.IsInf(float64(v), 0):
			expected = "a number that float32 holds"
		case variance && v < 0:
			expected = "a variance, 0 or more"
		default:
			continue
		}
		at := make([]int, len(t.Shape))
		for axis := len(at) - 1; axis >= 0; axis-- {
			at[axis], i = i%t.Shape[axis], i/t.Shape[axis]
		}
		return fmt.Errorf("tensor %q is %v at %v; expected %s", t.Name, v, at, expected)
	}
	return nil
}

// mismatch explains names that do not fit.
func mismatch(missing, left []string, found form, a nets.Architecture) string {
	shortcut := func(name string) bool { return strings.Contains(name, ".downsample.") }
	var b strings.Builder
	if len(missing) > 0 {
		fmt.Fprintf(&b, "missing are %s", some(missing))
	}
	if len(left) > 0 {
		if len(missing) > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "left over are %s", some(left))
	}
	switch {
	case len(tablesOf(missing, left)) > 0:
		fmt.Fprintf(&b, ". Tensors for all that are missing are below %s; choose by --table",
			strings.Join(tablesOf(missing, left), ", "))
	case len(left) == 0 && !slices.ContainsFunc(missing, func(name string) bool { return !shortcut(name) }):
		b.WriteString(". The shortcuts of this network have no weights: it pads them with zeros (option A of He et " +
			"al. 2016), where ours have a 1×1 convolution (option B). " +
			"Where they take every second pixel and stand in the middle of the new channels, as in " +
			"pytorch_resnet_cifar10, import them as " + string(PaddedShortcuts))
	case len(found.blocks) == 0 || found.is(a.Name, a):
		if other := namesake(missing, left, a); other != "" {
			fmt.Fprintf(&b, ". Its names are those of a %s", other)
		}
	case found.network(a) != "":
		fmt.Fprintf(&b, ". Its blocks are those of a %s", found.network(a))
	default:
		kind := "of two convolutions"
		if found.bottleneck {
			kind = "of three convolutions (bottlenecks)"
		}
		fmt.Fprintf(&b, ". Its stages have %v blocks %s, which no network here has. It cannot be imported; an ONNX "+
			"file of it can be certified as it is", found.blocks, kind)
	}
	return b.String()
}

// tablesOf are the prefixes under which all tensors that are missing are among those left over, as
// where a file has an average beside the weights.
func tablesOf(missing, left []string) (prefixes []string) {
	for _, name := range left {
		if len(missing) == 0 {
			break
		}
		prefix, ok := strings.CutSuffix(name, "."+missing[0])
		if ok && !slices.ContainsFunc(missing, func(m string) bool { return !slices.Contains(left, prefix+"."+m) }) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// namesake is the network whose tensors have the names of a file, of which those of a lack some and
// leave others over; empty if there is none.
func namesake(missing, left []string, a nets.Architecture) string {
	there := map[string]bool{}
	for _, p := range arrangement(a) {
		there[p.theirs] = !slices.Contains(missing, p.theirs)
	}
	n := len(left)
	for _, name := range left {
		there[name] = true
	}
	for _, has := range there {
		if has {
			n++
		}
	}
	for _, name := range nets.Names() {
		other := a
		if other.Name = name; other.Check() != nil {
			continue
		}
		places := arrangement(other)
		if name != a.Name && !slices.ContainsFunc(places, func(p place) bool { return !there[p.theirs] }) &&
			len(places) == n-len(left) {
			return name
		}
	}
	return ""
}

// form tells residual networks apart by the names of their tensors.
type form struct {
	blocks     []int // of each stage
	bottleneck bool  // blocks have three convolutions
	bare       bool  // shortcuts have convolutions without normalisation, as in pre-activation networks
}

func formOf(names []string) (f form) {
	has := func(part string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, part) })
	}
	f.bottleneck = has(".conv3.")
	f.bare = has(".downsample.0.") && !has(".downsample.1.")
	for _, name := range names {
		var stage, block int
		if n, _ := fmt.Sscanf(name, "layer%d.%d.", &stage, &block); n < 2 || stage < 1 || stage > 9 {
			continue
		}
		for len(f.blocks) < stage {
			f.blocks = append(f.blocks, 0)
		}
		f.blocks[stage-1] = max(f.blocks[stage-1], block+1)
	}
	return f
}

// is reports whether a network of a name, for the images of a, has this form.
func (f form) is(name string, a nets.Architecture) bool {
	a.Name = name
	if a.Check() != nil {
		return false
	}
	var names []string
	for _, p := range arrangement(a) {
		names = append(names, p.theirs)
	}
	own := formOf(names)
	return slices.Equal(own.blocks, f.blocks) && own.bottleneck == f.bottleneck && own.bare == f.bare
}

// network names a network of this form; empty if there is none.
func (f form) network(a nets.Architecture) string {
	for _, name := range nets.Names() {
		if f.is(name, a) {
			return name
		}
	}
	return ""
}

// some names the first few.
func some(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// normalise brings names into the form that ExportWeights writes, and drops what has no place in a network of ours.
func normalise(tensors []modelfile.Tensor, a nets.Architecture) (map[string]modelfile.Tensor, error) {
	byName := make(map[string]modelfile.Tensor, len(tensors))
	var kept []modelfile.Tensor
	for _, t := range tensors {
		name := unwrapped(t.Name)
		switch {
		case strings.HasSuffix(name, "num_batches_tracked") || name == "n_averaged":
		case strings.HasPrefix(name, "0.") && strings.Count(name, ".") == 1:
			if err := sameInput(t, a); err != nil {
				return nil, err
			}
		default:
			kept = append(kept, t)
		}
	}
	strip := ""
	for again := len(kept) > 0; again; {
		again = false
		for _, wrapper := range []string{"1.", "model."} {
			longer := strip + wrapper
			if !slices.ContainsFunc(kept, func(t modelfile.Tensor) bool {
				return !strings.HasPrefix(unwrapped(t.Name), longer)
			}) {
				strip, again = longer, true
			}
		}
	}
	for _, t := range kept {
		name := strings.Replace(strings.TrimPrefix(unwrapped(t.Name), strip), ".shortcut.", ".downsample.", 1)
		if rest, found := strings.CutPrefix(name, "linear."); found && !strings.Contains(rest, ".") {
			name = "fc." + rest
		}
		if other, twice := byName[name]; twice {
			return nil, fmt.Errorf("tensors %q and %q are two names of one", other.Name, t.Name)
		}
		byName[name] = t
	}
	return byName, dropTwin(byName)
}

// unwrapped is a name without what wrappers for several devices and compilers put into it.
func unwrapped(name string) string {
	parts := strings.Split(name, ".")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return part == "module" || part == "_orig_mod"
	}), ".")
}

// sameInput compares the mean or deviation of a normalisation in the file with the input layer.
func sameInput(t modelfile.Tensor, a nets.Architecture) error {
	mean, deviation := a.Normalization()
	want, missing := mean, 0.
	switch strings.TrimPrefix(unwrapped(t.Name), "0.") {
	case "mean", "means":
	case "std", "stds", "sds":
		want, missing = deviation, 1
	default:
		return fmt.Errorf("tensor %q is not one of a %s", t.Name, a.Name)
	}
	for i, v := range t.Values {
		w := missing
		if i < len(want) {
			w = want[i]
		}
		if !(math.Abs(float64(v)-w) <= 1e-3) {
			input := a.Input
			if input == "" {
				input = "none"
			}
			return fmt.Errorf("the file normalises images with %s %v, and the input layer %q has other values; "+
				"choose the one that fits", t.Name, t.Values, input)
		}
	}
	return nil
}

// Classes is the number of classes of a network in PyTorch's names: the length of its last bias, or
// the outputs of its last dense layer.
func Classes(tensors []modelfile.Tensor) (int, error) {
	for _, kind := range []string{"bias", "weight"} {
		// In Conv8 and VGG16 the head is the last of several, or the only one, below linear.
		for _, head := range []string{"fc", "linear", "linear.4", "linear.0"} {
			for _, t := range tensors {
				if strings.HasSuffix("."+unwrapped(t.Name), "."+head+"."+kind) && len(t.Shape) > 0 {
					return t.Shape[0], nil
				}
			}
		}
	}
	return 0, fmt.Errorf("torch: no tensor fc.weight or linear.weight, one of which every network that can be " +
		"imported has")
}
