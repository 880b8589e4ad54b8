package experiment_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/experiment"
)

// A table of what a folder holds, with intervals.
func ExampleTable() {
	f, err := experiment.Table(context.Background(), "../notebooks/results/experiments/A", "A/table2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.3f\n", f.Lines[0].Title, f.Lines[0].Values[0].Mean)
	// Output: Gaussian: 0.153
}

// What is left to be made in a folder.
func ExampleStatus() {
	tables, err := experiment.Status("../notebooks/results/experiments/A-evidence")
	if err != nil {
		fmt.Println(err)
		return
	}
	left := 0
	for _, t := range tables {
		left += t.Jobs - t.Done
	}
	fmt.Println(len(tables) > 0, left >= 0)
	// Output: true true
}
