package study_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	_ "github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/study"
)

// A study of one's own: two networks and a published log, planned, run, judged and run again, with claims that are fixed before.
func TestOwnStudy(t *testing.T) {
	dir := t.TempDir()
	const data = "synthetic/test[channels=grey,resize=28x28,count=3]"
	opened, err := dataset.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	list, err := opened.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := "idx\tlabel\tpredict\tradius\tcorrect\n"
	for i, radius := range []float64{.2, 0, .9} { // the last one lies above .25 Φ⁻¹(.001^(1/200)) = .455
		text += fmt.Sprintf("%d\t%d\t%d\t%g\t1\n", list.IDs[i], list.Labels[i], list.Labels[i], radius)
	}
	log := testkit.Write(t, []byte(text), dir, "log.tsv")
	network := "../notebooks/models/fmnist-cnn-s025"
	s := study.New(filepath.Join(dir, "mine"), data)
	s.Samples, s.Severities, s.Engine = 200, []int{3}, "go"
	s.Network("mine", network, .25)
	s.Network("other", network, .25)
	s.Network("loud", network, .5)
	s.Log("printed", log, .25)
	s.Radii("clean", "brightness")
	s.Claim("main", study.Claim{Row: "mine", Than: "other", What: "acr", On: []string{"clean", "brightness"}})
	s.Claim("settings", study.Claim{Row: "mine", Than: "loud", What: "acr", On: []string{"clean"}})
	s.Claim("log", study.Claim{Row: "printed", What: "acr", On: []string{"clean"}, By: .1})
	plan, err := s.Plan(t.Context())
	if err != nil || len(plan.Rows) != 4 || !strings.Contains(plan.Notes[0], "6 jobs left") || plan.Rows[0][1] != 3 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for range 2 { // the second call has nothing to do
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := s.Tables(t.Context())
	if err != nil || len(tables) < 3 {
		t.Fatal(len(tables), err)
	}
	said := ""
	for _, one := range tables {
		said += one.CSV() + strings.Join(one.Notes, "\n")
	}
	for _, want := range []string{"mine above other on clean images", "mine above other on brightness", "fixed before the first result",
		"ACR of printed above 0.1 on clean images,0.21", "settings differ: σ 0.25, 0.5"} { // at most (.2 + 0 + .455) / 3
		if !strings.Contains(said, want) {
			t.Errorf("the tables do not say %q:\n%s", want, said)
		}
	}
	s.Claim("main", study.Claim{Row: "other", What: "acr", On: []string{"clean"}})
	if tables, err = s.Tables(t.Context()); err != nil || !strings.Contains(strings.Join(tables[1].Notes, " "), "not fixed") {
		t.Errorf("%v, %v", tables, err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tables, err = s.Tables(t.Context()); err != nil || !strings.Contains(strings.Join(tables[1].Notes, " "), "fixed after 4 results") {
		t.Errorf("%v, %v", tables[1].Notes, err)
	}
	if plan, err := s.Plan(t.Context()); err != nil || !strings.Contains(plan.Notes[0], "0 jobs left") || plan.Rows[0][3] != "the pilot" {
		t.Errorf("%+v, %v", plan, err)
	}
}

// What is wrong with a study is said before anything runs.
func TestBrokenStudies(t *testing.T) {
	for want, make := range map[string]func(s *study.Study){
		"0 rows":              func(s *study.Study) {},
		"no set \"fogg\"":     func(s *study.Study) { s.Network("a", "a.onnx", .25); s.Radii("fogg") },
		"quantity \"\"":       func(s *study.Study) { s.Network("a", "a.onnx", .25); s.Claim("main", study.Claim{Row: "a"}) },
		"A/c10/nothing":       func(s *study.Study) { s.Recipe("a", "A/c10/nothing", 1) },
		"no such file":        func(s *study.Study) { s.Log("a", "nothing.tsv", .25) },
		"other.yaml: no such": func(s *study.Study) { s.Recipe("a", "other.yaml#own/g", 1) },
	} {
		s := study.New(filepath.Join(t.TempDir(), "mine"), "synthetic/test[count=3]")
		make(s)
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

// The share of the clean radius that is kept follows from radii, by hand; of two starts the images count that both certify as they are.
func TestKeptOfRadii(t *testing.T) {
	f := &study.Folder{}
	column := func(network, set string, values []float64, marks ...string) *study.Column {
		return &study.Column{Key: study.Key{Network: network, Set: set, Name: "radius"}, Images: []int{1, 2, 3, 4}, Labels: make([]int, 4),
			Values: values, Marks: marks}
	}
	none := math.NaN()
	f.Add(column("a", "clean", []float64{.4, none, .5, .2}, "", "x", "", ""), column("a", "fog-3", []float64{.1, .3, none, .3}, "", "", "a", ""),
		column("b", "clean", []float64{none, .4, .5, .2}, "a", "", "", ""), column("b", "fog-3", []float64{.1, .3, .25, .1}, "", "", "", ""))
	one := study.Row{Starts: []study.Start{{Network: "a", Seed: 1}}}
	s, err := f.SampleOn(one, "kept", "fog-3")
	if err != nil || !slices.Equal(s.Images, []int{1, 3, 4}) || !slices.Equal(s.Values[0], []float64{.25, 0, 1}) {
		t.Errorf("%+v, %v", s, err)
	}
	both := study.Row{Starts: append(one.Starts, study.Start{Network: "b", Seed: 2})}
	s, err = f.SampleOn(both, "kept", "fog-3")
	if err != nil || !slices.Equal(s.Images, []int{3, 4}) || !slices.Equal(s.Values[0], []float64{0, 1}) || !slices.Equal(s.Values[1], []float64{.5, .5}) {
		t.Errorf("%+v, %v", s, err)
	}
}
