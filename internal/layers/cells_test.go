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
