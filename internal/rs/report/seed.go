package report

import (
	"fmt"

	"github.com/certspec/certspec/rs/ledger"
)

// SeedNote says what a reader may conclude from how the seed of a run came about.
func SeedNote(h ledger.Header) string {
	if h.SeedChosen {
		return "The seed was chosen. The ledger does not show that it is the first one that was tried. Runs with " +
			"the same chosen seed on the same images share their noise: one with a larger n " +
			"uses the noise samples of this one again and adds to them. Such runs are not independent, and settings " +
			"that were chosen by looking at one of them must not be certified by another. " +
			"Where that matters, ask for a run with the derived seed, or name the seed yourself."
	}
	return fmt.Sprintf("The seed follows from model, data and settings. This rules out that seeds were tried until "+
		"one pleased. It does not rule out that settings were: an alpha that differs in its last digit "+
		"already gives another seed, and averages of small runs move with it. Each claim is false with probability "+
		"at most α = %g where the settings were fixed before the run; of a run that was picked "+
		"among k, only with at most k times that. Where that matters, ask how the settings were fixed, or for a run "+
		"with settings that you name.", h.Alpha)
}
