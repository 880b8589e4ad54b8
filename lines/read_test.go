package lines_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/lines"
)

// Ending and columns say which reader a file is for.
func TestReadByForm(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		return testkit.Write(t, []byte(text), folder, name)
	}
	bench := write("bench.csv", ",gaussian_noise,fog\n,1,1\na,0.5,0.75\n")
	if _, err := lines.Read(bench, lines.CSV{}); !errors.Is(err, lines.ErrImages) {
		t.Errorf("without images: %v", err)
	}
	models, err := lines.Read(bench, lines.CSV{Images: map[string]int{"": 100}})
	if err != nil || len(models) != 1 || models[0].Accuracies["fog"].Share != .75 {
		t.Errorf("RobustBench's: %+v, %v", models, err)
	}
	models, err = lines.Read(write("own.CSV", "model,clean\na,88/100\n"), lines.CSV{})
	if err != nil || len(models) != 1 || models[0].Accuracies["clean"].Share != .88 {
		t.Errorf("own: %+v, %v", models, err)
	}
	for _, path := range []string{write("own.txt", "model,clean\na,88/100\n"), write("empty.csv", ""), filepath.Join(folder, "none.csv")} {
		if _, err := lines.Read(path, lines.CSV{}); err == nil {
			t.Errorf("%s passes", path)
		}
	}
}
