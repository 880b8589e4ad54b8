package compare_test

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Two runs on the same four images; −1 is an image that is not certified right. Vectors of a run come from
// rs.Rows.Vectors.
func ExampleRuns() {
	images, labels := []int{0, 1, 2, 3}, []int{1, 1, 0, 2}
	a := compare.Of(images, labels, []float64{0.5, 0.25, -1, 1})
	b := compare.Of(images, labels, []float64{0.6, 0.35, -1, 1.1})
	c, err := compare.Runs(context.Background(), a, b, []float64{0.55}, resample.Options{Resamples: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*c.ACR.Holm >= c.ACR.P) // corrected for the two differences
	fmt.Printf("%d images: ACR %+.3f, certified accuracy at 0.55 %+.2f\n", c.Images, c.ACR.Difference, c.CertifiedAccuracy[0].Difference.Difference)
	// Output:
	// true
	// 4 images: ACR +0.075, certified accuracy at 0.55 +0.25
}
