// Command picture draws the picture of the README from the ledger of the quickstart and the figures
// of an attack on it, with the network that comes with certspec. From the root of the repository:
//
//	go run ./docs/picture
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
)

func main() {
	out := flag.String("o", "docs/smoothing.png", "file to write: .png, .svg or .pdf")
	image := flag.Int("row", 12, "which of the ledger's images stands on the left")
	flag.Parse()
	if err := draw(*out, *image); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func draw(out string, image int) error {
	data, err := dataset.Open("fashionmnist/test")
	if err != nil {
		return err
	}
	model, err := engine.Open("notebooks/models/fmnist-cnn-s025")
	if err != nil {
		return err
	}
	run, err := rs.Open("notebooks/results/quickstart.ledger")
	if err != nil {
		return err
	}
	if image < 0 || image >= len(run.Rows) {
		return fmt.Errorf("--row %d: the ledger has %d rows", image, len(run.Rows))
	}
	attacked, err := attacked("notebooks/results/quickstart-attack.json")
	if err != nil {
		return err
	}
	picture := nb.Method{Data: data, Model: model, Run: run, Image: image, Clean: run.CertifiedAccuracy(0)[0].Value,
		Attacked: attacked}
	return picture.Figure().Save(out)
}

// attacked are the radii and empirical accuracies of what certspec attack printed.
func attacked(file string) (points [][2]float64, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report struct {
		Radii []struct {
			Radius    float64 `json:"radius"`
			Empirical float64 `json:"empirical"`
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range report.Radii {
		points = append(points, [2]float64{r.Radius, r.Empirical})
	}
	return points, nil
}
