package backend

import (
	"fmt"
	"os"
	"strings"

	"github.com/certspec/certspec/internal/gomlxmodels/xlakernels"
)

// kernelsVariable holds which kernels of package xlakernels compute the convolutions of XLA on a
// CPU, where the choice does not say: the best that sum directly (default), avx512, avx2 or neon,
// winograd for the best that multiply less and round otherwise, bf16 for those that round their
// factors to bfloat16, or off, for XLA's own. They are part of Version, and so of every card,
// checkpoint and ledger.
const kernelsVariable = "CERTSPEC_KERNELS"

const kernelsOff = "off"

// kernelsWish takes the option kernels=WISH out of the options of a plugin.
func kernelsWish(options string) (others, wish string) {
	wish = os.Getenv(kernelsVariable)
	var kept []string
	for option := range strings.SplitSeq(options, ",") {
		if value, found := strings.CutPrefix(option, "kernels="); found {
			wish = value
		} else if option != "" {
			kept = append(kept, option)
		}
	}
	return strings.Join(kept, ","), wish
}

// Native is the same plugin with XLA's own convolutions; it is b where b has no kernels. It goes on
// with what was begun before there were kernels.
func (b *Backend) Native() (*Backend, error) {
	if b.counts == nil {
		return b, nil
	}
	choice := fmt.Sprintf("%s:%s,kernels=%s", XLA, b.Path, kernelsOff)
	if b.options != "" {
		choice += "," + b.options
	}
	return Open(choice)
}

// Identity names all of a backend that the answers depend on, as on cards and in checkpoints.
func (b *Backend) Identity() string {
	return fmt.Sprintf("%s %s, %s, %d threads, %s", b.Engine, b.Version, b.Device, b.Threads, b.InstructionSet)
}

// Convolutions says how many convolutions the kernels took since the backend was opened; nil where there are none.
func (b *Backend) Convolutions() *xlakernels.Counts {
	if b.counts == nil {
		return nil
	}
	c := b.counts()
	return &c
}
