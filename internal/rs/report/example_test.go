package report_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/internal/rs/report"
)

// A ledger written up; r.HTML, r.Markdown and r.LaTeX are its forms.
func ExampleNew() {
	r, err := report.New(context.Background(), "../../../notebooks/results/quickstart.ledger", report.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d images, average certified radius %.3f\n", r.Images, r.ACR.Value)
	// Output: 500 images, average certified radius 0.555
}
