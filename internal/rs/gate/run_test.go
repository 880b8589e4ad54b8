package gate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

var one = pixel.Shape{Height: 1, Width: 1, Channels: 1}

func step(thresholds ...float64) classifier.Classifier {
	return classifier.Step{Shape: one, Thresholds: thresholds}
}

// greys are n images whose labels are those of step(.25, .5, .75), some of them unknown.
func greys(n int) *imageset.Index {
	im := &imageset.Images{Name: "greys", Digest: "sha256:greys", Shape: one, Classes: []string{"a", "b", "c", "d"}}
	for i := range n {
		value := i * 255 / n
		label := value / 64
		if i%20 == 19 {
			label = -1
		}
		im.IDs, im.Labels, im.Pixels = append(im.IDs, 3*i), append(im.Labels, label), append(im.Pixels, uint8(value))
	}
	return im.Indexed()
}

func settings() Options {
	h := Header{Sigma: .05, Radius: .02, Drop: .01, Level: .05, Alpha: .001, MaxSamples: 400, Selection: 20, Block: 20}
	return Options{Header: h}
}

func TestRun(t *testing.T) {
	x := greys(400)
	for _, v := range []struct {
		name string
		new  classifier.Classifier
		most int
		want Verdict
	}{
		{"the same network", step(.25, .5, .75), 0, Pass},
		{"thresholds that hardly moved", step(.251, .5, .75), 0, Pass},
		{"a class lost in part", step(.25, .5, .85), 0, Fail},
		{"too few images", step(.25, .5, .75), 3, Undecided},
	} {
		o := settings()
		o.Most = v.most
		out, err := Run(t.Context(), step(.25, .5, .75), v.new, x, o)
		if err != nil || out.Verdict != v.want || out.Images != 380 {
			t.Errorf("%s: %s of %d images, %v", v.name, out.Verdict, out.Images, err)
		}
		t.Logf("%s: %s after %d images, %d noise samples", v.name, out.Verdict, out.Test.Seen, out.Samples)
	}
}

// A gate that was stopped goes on from its record, and ends with the bytes of one that was not.
func TestRunResumes(t *testing.T) {
	x, folder := greys(200), t.TempDir()
	o := settings()
	o.Record = filepath.Join(folder, "whole")
	whole, err := Run(t.Context(), step(.25, .5, .75), step(.25, .5, .78), x, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.Record)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	o.Record = filepath.Join(folder, "cut")
	if err := os.WriteFile(o.Record, append(bytes.Join(lines[:12], nil), lines[12][:3]...), 0o666); err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), step(.25, .5, .75), step(.25, .5, .78), x, o)
	same := again.Verdict == whole.Verdict && again.Test != nil && again.Test.Seen == whole.Test.Seen
	if err != nil || !same || again.Samples >= whole.Samples {
		t.Errorf("%+v, %v; expected %+v", again, err, whole)
	}
	now, err := os.ReadFile(o.Record)
	if n := min(len(now), len(text)); err != nil || !bytes.Equal(now[:n], text[:n]) {
		t.Errorf("%v: the record differs:\n%s\n%s", err, now, text)
	}
	o.Radius = .03
	_, err = Run(t.Context(), step(.25, .5, .75), step(.25, .5, .78), x, o)
	if err == nil || !strings.Contains(err.Error(), "another gate") {
		t.Errorf("another radius: %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	none := greys(20)
	for i := range none.Labels {
		none.Labels[i] = -1
	}
	broken := filepath.Join(t.TempDir(), "broken")
	for _, v := range []struct {
		ctx  context.Context
		new  classifier.Classifier
		x    *imageset.Index
		edit func(*Options)
		want string
	}{
		{t.Context(), step(.5), greys(20), func(*Options) {}, "cannot be compared"},
		{t.Context(), step(.2, .5, .7), none, func(*Options) {}, "0 labelled images"},
		{t.Context(), step(.2, .5, .7), greys(20), func(o *Options) { o.Drop = 1 }, "the drop is 1"},
		{t.Context(), step(.2, .5, .7), greys(20), func(o *Options) { o.Radius = 9 },
			"which no number of noise samples certifies"},
		{t.Context(), step(.2, .5, .7), greys(20), func(o *Options) { o.Record = broken }, "another gate"},
		{stopped, step(.2, .5, .7), greys(20), func(*Options) {}, "canceled"},
	} {
		if err := os.WriteFile(broken, []byte("{}\n1 2\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		o := settings()
		v.edit(&o)
		if _, err := Run(v.ctx, step(.25, .5, .75), v.new, v.x, o); err == nil || !strings.Contains(err.Error(), v.want) {
			t.Errorf("%v; expected %q", err, v.want)
		}
	}
}

// Images that are given up because their chosen class is not their label are those that do not count.
func TestGivingUpChangesNoDifference(t *testing.T) {
	x := greys(120)
	for i := range x.Labels {
		x.Labels[i] = (i*255/120/64 + i%2) % 4
	}
	var places []int
	for i := range x.Labels {
		places = append(places, i)
	}
	opt := rs.Options{Rule: rs.Betting, Sigma: .05, Alpha: .001, MaxSamples: 400, Selection: 20,
		Block: 20, Radii: []float64{.02}, Seed: 5}
	all, most, err := certify(t.Context(), step(.25, .5, .75), step(.25, .5, .85), x, places, opt)
	if err != nil {
		t.Fatal(err)
	}
	opt.OnlyCorrect = true
	some, least, err := certify(t.Context(), step(.25, .5, .75), step(.25, .5, .85), x, places, opt)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for i := range all {
		if all[i].difference() != some[i].difference() {
			t.Errorf("image %d: %v and %v", i, all[i], some[i])
		}
		if all[i].difference() > 0 {
			lost++
		}
	}
	if 4*least > 3*most || lost == 0 {
		t.Errorf("%d of %d noise samples, %d images lost; expected fewer, and some", least, most, lost)
	}
	opt.Ledger = filepath.Join(t.TempDir(), "a.ledger")
	if _, _, err := certify(t.Context(), step(.25), step(.25), x, places, opt); err == nil {
		t.Error("a ledger without the claims on wrong images was written")
	}
}
