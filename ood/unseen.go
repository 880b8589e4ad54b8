package ood

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/rs/ledger"
)

// TrainedError says that images to be scored as unseen were trained on.
type TrainedError struct{ Images, Trained string }

func (e *TrainedError) Error() string {
	return fmt.Sprintf("ood: the network was trained on %s: %s cannot be scored as unseen images; take others",
		e.Trained, e.Images)
}

// Unseen refuses, as foreign, images that a network was trained on. These are images of the same digest, and those of
// the same split of a set, unless the selections of both are known to be disjoint. It names the training set from which
// images were held out.
//
// Errors: *TrainedError.
func Unseen(images ledger.Data, trained []ledger.Data) (heldOut string, err error) {
	for _, t := range trained {
		if t.Digest != "" && t.Digest == images.Digest || base(images.Name) == base(t.Name) &&
			!apart(images.Name, t.Name) {
			return "", &TrainedError{images.Name, t.Name}
		}
	}
	set := func(name string) string {
		before, _, _ := strings.Cut(base(name), "/")
		return before
	}
	for _, t := range trained {
		if set(t.Name) == set(images.Name) {
			return t.Name, nil
		}
	}
	return "", nil
}

// Caveats lists what a reader of a comparison with foreign images should know of the training sets.
func Caveats(trained []ledger.Data, heldOut string) (list []string) {
	if heldOut != "" {
		list = append(list, fmt.Sprintf("the foreign images are held out from a set of training, %s: they are not "+
			"of an unseen source", heldOut))
	}
	if len(trained) == 0 {
		list = append(list, "it is not known what the network was trained on: that the foreign images are unseen "+
			"was not checked")
	}
	return list
}

// Further makes sure that images are not those of another measurement, as far as digests and names tell. Parts of one
// set must be ranges that do not meet, the two parts of a split, or of other classes.
func Further(images, of *Measurement) error {
	a, b := images.Header.Data, of.Header.Data
	if a.Digest == b.Digest || base(a.Name) == base(b.Name) && !apart(a.Name, b.Name) {
		return fmt.Errorf("ood: %s is of %s, and %s of %s, which may share images; expected other sets, or parts "+
			"that do not meet, as %s[range=0:500] and [range=500:1000]", images.Path, a.Name, of.Path, b.Name,
			base(a.Name))
	}
	return nil
}

func base(name string) string {
	before, _, _ := strings.Cut(name, "[")
	if strings.HasPrefix(before, "noise:") { // an image of noise is the same among however many
		before = strings.Join(slices.DeleteFunc(strings.Split(before, ","),
			func(s string) bool { return strings.HasPrefix(s, "n=") }), ",")
	}
	return before
}

// apart reports whether two selections of one set are known to share no image: ranges that do not
// meet, the two parts of a split, or other classes.
func apart(a, b string) bool {
	if of := classes(b); of != nil && classes(a) != nil && !slices.ContainsFunc(classes(a),
		func(c string) bool { return slices.Contains(of, c) }) {
		return true
	}
	var ra, rb [2]int
	if selection(a, "range=", func(s string) bool { return scan(s, &ra) }) && selection(b, "range=",
		func(s string) bool { return scan(s, &rb) }) {
		return ra[1] <= rb[0] || rb[1] <= ra[0]
	}
	var sa, sb string
	if selection(a, "split=", func(s string) bool { sa = s; return true }) && selection(b, "split=",
		func(s string) bool { sb = s; return true }) {
		i, j := strings.LastIndexByte(sa, ':'), strings.LastIndexByte(sb, ':')
		return i > 0 && j > 0 && sa[:i] == sb[:j] && sa[i:] != sb[j:]
	}
	return false
}

// classes are the classes of the first choice in a name; later ones have fewer.
func classes(name string) []string {
	_, list, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	for _, s := range strings.Split(list, ",") {
		if chosen, ok := strings.CutPrefix(s, "only="); ok {
			return strings.Split(chosen, ":")
		}
	}
	return nil
}

// selection finds the first selection of a kind that stands before all others in a name: only such
// a one is of the whole set.
func selection(name, kind string, use func(string) bool) bool {
	_, list, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	for _, s := range strings.Split(list, ",") {
		key, _, _ := strings.Cut(s, "=")
		if value, ok := strings.CutPrefix(s, kind); ok {
			return use(value)
		}
		if slices.Contains([]string{"split", "count", "only"}, key) { // a split behind them is of fewer images
			return false
		}
		if kind == "split=" && slices.Contains([]string{"range", "skip", "max_index"}, key) {
			return false
		}
	}
	return false
}

func scan(s string, r *[2]int) bool {
	n, err := fmt.Sscanf(s, "%d:%d", &r[0], &r[1])
	return n == 2 && err == nil
}
