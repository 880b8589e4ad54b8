package method_test

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/method"
)

// A method with an option in the place of its default.
func ExampleNew() {
	m, err := method.New("hcr", "lambda=20")
	if err != nil {
		fmt.Println(err)
		return
	}
	options, err := method.Options(m)
	fmt.Println(m.Name(), options["lambda"], err)
	// Output: hcr 20 <nil>
}
