package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Context is how a number was found: what two numbers must share to stand beside each other. The program fills it in
// from the tier, the table or the printed settings; a claim never does.
type Context struct {
	What    string
	Unit    string   // of What
	Set     string   // as the cell has it
	Sets    []string // single sets that Set is the mean over, as fog-3
	Data    string   // kind of the own images, as cifar10
	Network string
	Images  int     // of each single set
	Sigma   float64 // 0: no noise, or not known
	Cap     float64 // largest radius that can be proven; 0: not known, or What has none
	Epsilon float64
	Found   string // by search, where What is a largest value; "": exactly
}

// Kinship says how two numbers compare.
type Kinship int

// From numbers that compare to those that do not.
const (
	Alike    Kinship = iota // sizes compare
	SignOnly                // settings differ: the sign of a difference compares, and not its size
	Apart                   // another quantity, unit, set or data: nothing compares, and neither stands beside the other
)

// kinds are data sets of which another is a part.
var kinds = map[string]string{"mnist-8k": "mnist"}

// Beside compares ours with what is printed, and says in words what differs.
func (ours Context) Beside(printed Context) (Kinship, string) {
	switch {
	case ours.What != printed.What || ours.Unit != printed.Unit:
		return Apart, fmt.Sprintf("%s in %s for %s in %s", ours.What, ours.Unit, printed.What, printed.Unit)
	case ours.Set != printed.Set:
		return Apart, fmt.Sprintf("%s for %s", ours.Set, printed.Set)
	case ours.kind() != printed.kind():
		return Apart, fmt.Sprintf("%s for %s", ours.Data, printed.Data)
	case ours.Epsilon != printed.Epsilon:
		return Apart, fmt.Sprintf("balls of %g for %g", ours.Epsilon, printed.Epsilon)
	}
	var why []string
	differs := func(is bool, format string, args ...any) {
		if is {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	differs(ours.Data != printed.Data, "a part of %s", printed.Data)
	differs(ours.Network != printed.Network, "%s for %s", orUnknown(ours.Network), orUnknown(printed.Network))
	differs(printed.Sigma != ours.Sigma, "σ = %s for %s", number(ours.Sigma), number(printed.Sigma))
	differs(math.Abs(ours.Cap-printed.Cap) > 5e-4, "radii end at %s for %s", number(ours.Cap), number(printed.Cap))
	differs(ours.Found != printed.Found, "%s for %s", orExact(ours.Found), orExact(printed.Found))
	if !slices.Equal(ours.Sets, printed.Sets) {
		differs(len(ours.Sets) != len(printed.Sets), "%d cells for %d", len(ours.Sets), len(printed.Sets))
		differs(len(ours.Sets) == len(printed.Sets), "other cells")
	}
	differs(ours.Images != printed.Images, "%s images for %s", number(float64(ours.Images)),
		number(float64(printed.Images)))
	if len(why) == 0 {
		return Alike, ""
	}
	return SignOnly, strings.Join(why, ", ")
}

// kind is the data set that the own images are of, or are a part of.
func (c Context) kind() string {
	if whole, ok := kinds[c.Data]; ok {
		return whole
	}
	return c.Data
}

func orUnknown(name string) string {
	if name == "" {
		return "an unknown network"
	}
	return name
}

func orExact(found string) string {
	if found == "" {
		return "exact"
	}
	return found
}

// number has three digits behind the point at most; 0 stands for what is not known.
func number(v float64) string {
	switch {
	case v == 0:
		return "unknown"
	case v == math.Trunc(v) && v >= 1000:
		return fmt.Sprintf("%d,%03d", int(v)/1000, int(v)%1000)
	}
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}
