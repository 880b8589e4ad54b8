package recipe_test

import (
	"fmt"

	"github.com/certspec/certspec/internal/experiment/recipe"
)

// A recipe of a paper, as the library has it.
func ExampleOpen() {
	l, err := recipe.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := l.Recipe("A/c10/fm-hcr")
	fmt.Println(r.Method, r.Views, *r.Sigma, err)
	// Output: hcr fouriermix 0.25 <nil>
}
