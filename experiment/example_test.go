package experiment_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/resample"
)

// A recipe of a paper, as the library has it.
func ExampleOpen() {
	l, err := experiment.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := l.Recipe("A/c10/fm-hcr")
	fmt.Println(r.Method, r.Views, *r.Sigma, err)
	// Output: hcr fouriermix 0.25 <nil>
}

// A table of what a folder holds, with intervals.
func ExampleFill() {
	f, err := experiment.Fill(context.Background(), "../notebooks/results/experiments/A", "A/table2", resample.Options{Resamples: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.3f\n", f.Lines[0].Title, f.Lines[0].Values[0].Mean)
	// Output: Gaussian: 0.153
}
