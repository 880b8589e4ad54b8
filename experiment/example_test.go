package experiment_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/experiment"
)

// The tables of what a folder holds, with intervals.
func ExampleTables() {
	all, err := experiment.Tables(context.Background(), "../notebooks/results/experiments/A", "A/table2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(all[0].Title, all[0].Columns[:2], all[0].Rows[0][0])
	// Output: Average certified radius on CIFAR-10-C [model clean] Gaussian
}
