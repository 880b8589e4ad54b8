package layers

import (
	"path/filepath"
	"strings"
	"testing"
)

// cells are what a person types, in a program of another module: its imports, then statements.
const cells = `package main

import (
	"fmt"
	"os"

	"github.com/certspec/certspec/model"
	"github.com/certspec/certspec/nb"
)

// an own network, on a folder of own pictures
var net, pics = model.Open(os.Args[1]), nb.Data(os.Args[2])
var run = nb.Certify(net, pics, nb.Smoothing{Sigma: 0.25, N: 200})

func main() {
	nb.Show(run)
	// curve, table, paper
	curve := nb.Curve(run)
	curve.Title = "My network on my pictures"
	nb.Show(curve, nb.Table(run), net)
	nb.Save(curve.Paper(1), "curve.pdf")
	nb.Save(nb.Table(run), "table.tex", "table.csv")
	// corruptions by severity
	nb.Show(nb.Sweep(net, pics, nb.Smoothing{Sigma: 0.25, N: 100}, "brightness"))
	// votes
	nb.Show(nb.Votes(net, pics, 1, nb.Smoothing{Sigma: 0.5, N: 100}))
	fmt.Println("rows", len(run.Rows), run.Complete())
}
`

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

// The cells of a notebook run as typed, in a module of another path, with a network by its path.
func TestCellsOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: links the engine into a program of another module")
	}
	run := foreign(t, map[string]string{"cells/main.go": cells})
	network, err := filepath.Abs("../../notebooks/models/fmnist-cnn-s025")
	if err != nil {
		t.Fatal(err)
	}
	out := run("run", "./cells", network,
		"synthetic/test[channels=grey,resize=28x28,count=4]")
	for _, want := range []string{"rows 4 true", "My network", "mACR", "votes"} {
		if !strings.Contains(out, want) {
			t.Errorf("the cells do not say %q:\n%s", want, out)
		}
	}
}
