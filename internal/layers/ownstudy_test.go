package layers

import (
	"path/filepath"
	"strings"
	"testing"
)

// ownStudy is a study of one's own in a cell: two networks and a recipe, claims that are fixed before the run.
const ownStudy = `package main

import (
	"os"

	_ "github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/study"
)

func main() {
	s := study.New("out/mine", os.Args[2])
	s.Samples, s.Severities, s.Epochs, s.Learn, s.Engine = 100, []int{3}, 1, "count=32", "go"
	s.Network("mine", os.Args[1], 0.25)
	s.Network("again", os.Args[1], 0.25)
	s.Recipe("trained", "own.yaml#own/small", 1)
	s.Radii("clean", "brightness")
	s.Claim("main", study.Claim{Row: "mine", Than: "trained", What: "acr", On: []string{"clean", "brightness"}})
	nb.Show(nb.Must(s.Plan(nb.Context())))
	nb.Check(s.Run(nb.Context()))
	for _, t := range nb.Must(s.Tables(nb.Context())) {
		nb.Show(t)
	}
}
`

const ownRecipe = `recipes:
  own/small: {from: A/base, data: synthetic, network: small-cnn, epochs: 1, batch: 16}
`

// A study of one's own runs as typed, from a module of another path.
func TestOwnStudyOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: links the engine into a program of another module")
	}
	run := foreign(t, map[string]string{"mine/main.go": ownStudy, "own.yaml": ownRecipe})
	network, err := filepath.Abs("../../notebooks/models/fmnist-cnn-s025")
	if err != nil {
		t.Fatal(err)
	}
	out := run("run", "./mine", network, "synthetic/test[channels=grey,resize=28x28,count=4]")
	for _, want := range []string{"smallest difference", "mine above trained on clean images", "fixed before the first result"} {
		if !strings.Contains(out, want) {
			t.Errorf("the study does not say %q:\n%s", want, out)
		}
	}
}
