package gate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

var one = pixel.Shape{Height: 1, Width: 1, Channels: 1}

func step(thresholds ...float64) classifier.Classifier {
	return classifier.Step{Shape: one, Thresholds: thresholds}
}

// greys are n images with the labels of step(.25, .5, .75), some of them unknown.
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
	text := testkit.Read(t, o.Record)
	lines := bytes.SplitAfter(text, []byte("\n"))
	o.Record = filepath.Join(folder, "cut")
	testkit.Write(t, append(bytes.Join(lines[:12], nil), lines[12][:3]...), o.Record)
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
		{t.Context(), step(.2, .5, .7), greys(20), func(o *Options) { o.Record = broken }, "no record of a gate"},
		{stopped, step(.2, .5, .7), greys(20), func(*Options) {}, "canceled"},
	} {
		testkit.Write(t, []byte("{}\n1 2\n"), broken)
		o := settings()
		v.edit(&o)
		if _, err := Run(v.ctx, step(.25, .5, .75), v.new, v.x, o); err == nil || !strings.Contains(err.Error(), v.want) {
			t.Errorf("%v; expected %q", err, v.want)
		}
	}
}

// named is a network under another name, on another engine.
type named struct {
	classifier.Classifier
	name, engine string
}

func (n named) Info() (classifier.Info, error) {
	info, err := n.Classifier.Info()
	info.Name, info.Identity.Engine = n.name, n.engine
	return info, err
}

// The seed follows from what is compared: no name, no engine and no path enters it, and every digest and setting does.
func TestSeedFollowsFromContent(t *testing.T) {
	seed := func(edit func(o *Options, x *imageset.Index), name, engine string, to float64) uint64 {
		t.Helper()
		o, x := settings(), greys(100)
		o.Most = 1
		edit(&o, x)
		out, err := Run(t.Context(), named{step(.25, .5, .75), name, engine}, named{step(.25, .5, to), name, engine}, x, o)
		if err != nil {
			t.Fatal(err)
		}
		return out.Seed
	}
	same := func(*Options, *imageset.Index) {}
	want := seed(same, "a", "toy", .78)
	for _, got := range []uint64{seed(same, "b", "toy", .78), seed(same, "a", "xla", .78),
		seed(func(o *Options, x *imageset.Index) { x.Name = "other" }, "a", "toy", .78),
		seed(func(o *Options, x *imageset.Index) { o.Record = filepath.Join(t.TempDir(), "r") }, "a", "toy", .78)} {
		if got != want {
			t.Errorf("a name or an engine draws another seed")
		}
	}
	for i, edit := range []func(o *Options, x *imageset.Index){
		func(o *Options, x *imageset.Index) { x.Digest = "sha256:other" },
		func(o *Options, x *imageset.Index) { x.Labels[0] = -1 },
		func(o *Options, x *imageset.Index) { o.Sigma = .06 }, func(o *Options, x *imageset.Index) { o.Radius = .03 },
		func(o *Options, x *imageset.Index) { o.Drop = .02 }, func(o *Options, x *imageset.Index) { o.Level = .04 },
		func(o *Options, x *imageset.Index) { o.Alpha = .002 }, func(o *Options, x *imageset.Index) { o.MaxSamples = 380 },
		func(o *Options, x *imageset.Index) { o.Selection = 40 }, func(o *Options, x *imageset.Index) { o.Block = 10 },
	} {
		if seed(edit, "a", "toy", .78) == want {
			t.Errorf("change %d does not draw another seed", i)
		}
	}
	if seed(same, "a", "toy", .79) == want {
		t.Error("another network has the same seed")
	}
}

// A record that certspec wrote when names entered the seed keeps its seed and its bytes, also under other names.
func TestOldRecordGoesOn(t *testing.T) {
	old := testkit.Read(t, "testdata/v1.record")
	lines := bytes.SplitAfter(old, []byte("\n"))
	for _, name := range []string{"step", "renamed"} {
		o := settings()
		o.Record = filepath.Join(t.TempDir(), "record")
		testkit.Write(t, bytes.Join(lines[:20], nil), o.Record)
		out, err := Run(t.Context(), named{step(.25, .5, .75), name, "toy"}, named{step(.25, .5, .78), name, "toy"},
			greys(60), o)
		got, e := os.ReadFile(o.Record)
		if err != nil || e != nil || out.Seed != 6239130333017654879 || !bytes.HasPrefix(old, got) || len(got) <= len(lines[0]) ||
			out.Samples == 0 {
			t.Errorf("%s: seed %d, %d bytes of %d, %v, %v", name, out.Seed, len(got), len(old), err, e)
		}
	}
}

// The certified images of both networks equal those in their records, up to where the test has stopped.
func TestCertifiedOfBoth(t *testing.T) {
	o := settings()
	o.Record = filepath.Join(t.TempDir(), "record")
	out, err := Run(t.Context(), step(.25, .5, .75), step(.25, .5, .85), greys(400), o)
	if err != nil {
		t.Fatal(err)
	}
	text := testkit.Read(t, o.Record)
	old, now := 0, 0
	for _, line := range strings.Split(string(text), "\n")[1 : 1+out.Test.Seen] {
		f := strings.Fields(line)
		if f[2] == f[1] {
			old++
		}
		if f[5] == f[1] {
			now++
		}
	}
	if out.OldCertified != old || out.NewCertified != now || old-now != out.Test.Sum || now == 0 {
		t.Errorf("%d and %d; want %d and %d", out.OldCertified, out.NewCertified, old, now)
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

// A single class may lose much while the whole stays within the drop: the plain gate passes, that by class fails and
// names the class. A gate by class that was stopped goes on, to the same bytes; one of another assignment is refused.
func TestOneClassLoses(t *testing.T) {
	x, folder := greys(400), t.TempDir()
	old, now := step(.25, .5, .75), step(.25, .5, .78)
	o := settings()
	o.Drop = .1
	if out, err := Run(t.Context(), old, now, x, o); err != nil || out.Verdict != Pass || out.Tested != nil {
		t.Fatalf("all classes together: %s, %v", out.Verdict, err)
	}
	o.Grouping, o.Record = ByClass(x), filepath.Join(folder, "whole")
	whole, err := Run(t.Context(), old, now, x, o)
	if err != nil || whole.Verdict != Fail || len(whole.Tested) != 4 {
		t.Fatalf("by class: %+v, %v", whole, err)
	}
	seen, sum := 0, 0
	for _, g := range whole.Tested {
		if seen, sum = seen+g.Seen, sum+g.Sum; (g.Verdict == Fail) != (g.Name == "3 d") || g.OldCertified-g.NewCertified != g.Sum {
			t.Errorf("class %s: %s", g.Name, g.Verdict)
		}
	}
	if whole.Test.Seen != seen || whole.Test.Sum != sum || whole.Images != 380 || whole.Version != 3 {
		t.Errorf("%+v; the classes have seen %d with a sum of %d", whole.Test, seen, sum)
	}
	text := testkit.Read(t, o.Record)
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) != seen+2 {
		t.Errorf("%d outcomes of %d images", len(lines)-2, seen)
	}
	for _, cut := range []int{1, 5, 21, seen} {
		o.Record = filepath.Join(folder, "cut")
		testkit.Write(t, append(bytes.Join(lines[:cut], nil), lines[cut][:2]...), o.Record)
		again, err := Run(t.Context(), old, now, x, o)
		got, e := os.ReadFile(o.Record)
		if err != nil || e != nil || again.Verdict != Fail || !bytes.Equal(got, text) {
			t.Errorf("cut after %d lines: %s, %v, %v", cut, again.Verdict, err, e)
		}
	}
	for name, edit := range map[string]func(g *Grouping){
		"an image moved": func(g *Grouping) { g.Of[0] = g.Of[399-1] }, "no groups": nil,
		"a name":   func(g *Grouping) { g.Of[0] = "other" },
		"a column": func(g *Grouping) { g.By = "other" },
	} {
		if o.Grouping = nil; edit != nil {
			o.Grouping = ByClass(x)
			edit(o.Grouping)
		}
		if _, err := Run(t.Context(), old, now, x, o); err == nil || !strings.Contains(err.Error(), "other groups") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Record, o.Grouping = "", ByClass(x)
	for i, name := range o.Grouping.Of {
		o.Grouping.Of[i] = strings.Replace(name, "3 d", "renamed", 1)
	}
	if out, err := Run(t.Context(), old, now, x, o); err != nil || out.Seed != whole.Seed {
		t.Errorf("a name of a group draws another seed: %v", err)
	}
	if out, err := Run(t.Context(), old, old, x, o); err != nil || out.Verdict != Pass || out.Test.Seen >= out.Images {
		t.Errorf("the same network: %s after %d, %v", out.Verdict, out.Test.Seen, err)
	}
	for i := range o.Grouping.Of {
		o.Grouping.Of[i] = "all"
	}
	alone, err := Run(t.Context(), old, now, x, o)
	if err != nil || len(alone.Tested) != 1 || alone.Tested[0].Verdict != Pass || alone.Test.Allowed != alone.Tested[0].Allowed {
		t.Errorf("one group: %+v, %v", alone, err)
	}
}

// Files of groups: the ids of a selection, the columns, and what is refused.
func TestGroupsOfAFile(t *testing.T) {
	x := greys(20) // ids 0, 3, …; the last has no label
	rows := func(of func(i int) string) (text string) {
		for i := range 40 {
			text += of(i)
		}
		return text
	}
	two := func(i int) string { return fmt.Sprintf("%d,%d,g%d,h\n", i*3/2, i%4, i/2%2) }
	twoOnly := func(i int) string { return strings.ReplaceAll(strings.TrimSuffix(two(i), ",h\n"), ",", "\t") + "\n" }
	file := filepath.Join(t.TempDir(), "groups.csv")
	for _, c := range []struct{ text, column, want string }{
		{"image,label,site,camera\n" + rows(two), "site", ""},
		{"\ufeffidx\tlabel\tsite\n" + rows(twoOnly), "site", ""},
		{"image,label,site,camera\n" + rows(two), "place", "one column place (--column); the header has"},
		{"image,label,site,site\n" + rows(two), "site", "one column site"},
		{"picture,label,site,camera\n" + rows(two), "site", "expected a column image or idx"},
		{"image,site\n0,a\n", "site", "no site for image 3"},
		{"image,site\n0,a\n0,b\n", "site", "image 0 again"},
		{"image,site\nzero,a\n", "site", "a whole number"},
		{"image,site\n0,a,b\n", "site", "wrong number of fields"},
		{"image,site\n0,\xff\n", "site", "no UTF-8"},
		{"", "site", "expected a header"},
	} {
		testkit.Write(t, []byte(c.text), file)
		g, err := ByFile(file, c.column, x)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v; expected %q", c.text[:min(len(c.text), 40)], err, c.want)
			}
			continue
		}
		if err != nil || g.By != "site" || g.Of[0] != "g0" || g.Of[1] != "g1" || g.Of[2] != "g0" || len(g.Empty) != 0 {
			t.Errorf("%+v, %v", g, err)
		}
	}
	if g := ByClass(greys(60)); len(g.Empty) != 0 || g.Of[0] != "0 a" || g.Of[19] != "" {
		t.Errorf("%+v", g)
	}
	some := greys(60).Take([]int{0, 1, 59})
	if g := ByClass(some); len(g.Empty) != 3 || g.Empty[0] != "1 b" {
		t.Errorf("%+v", g)
	}
}
