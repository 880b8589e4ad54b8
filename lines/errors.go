package lines

import (
	"fmt"

	"github.com/certspec/certspec/internal/nearest"
)

// unknown says that a name is not among those there are, and which comes nearest.
func unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("lines: no %s %q: there are none", kind, name)
	}
	return fmt.Errorf("lines: no %s %q; did you mean %q? There are: %s", kind, name, nearest.Of(name, known),
		list(known))
}
