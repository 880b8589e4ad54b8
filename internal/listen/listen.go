// Package listen says who listens to long work that begins without a context of its own: a network that is opened or
// trained when it is first needed. Package nb sets both for a cell.
package listen

import (
	"context"
	"os"
	"strings"

	"github.com/certspec/certspec/progress"
)

// Context ends such work; Progress makes what hears of it, nil where nobody listens; Command is the command line that
// cards name.
var (
	Context  = context.Background
	Progress = func() progress.Reporter { return nil }
	Command  = func() string { return strings.Join(os.Args, " ") }
)
