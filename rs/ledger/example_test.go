package ledger_test

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
)

// A ledger is gone through image by image, with the counts of all looks.
func ExampleLedger_Images() {
	l, err := ledger.Read("../testdata/v1-staged.ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	images := 0
	for looks := range l.Images() {
		if len(looks) > 0 {
			images++
		}
	}
	fmt.Println(images, "images of", l.Header.Data.Images)
	// Output: 12 images of 12
}
