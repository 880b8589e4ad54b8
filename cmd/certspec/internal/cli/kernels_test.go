package cli

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
)

// A ledger that was begun before the kernels names the command that goes on with it; one that differs otherwise does not.
func TestLedgerBeforeTheKernels(t *testing.T) {
	const field = "model.identity.engine_version"
	old, now := `"go-xla v0.4.2, PJRT 0.81, cpu"`, `"go-xla v0.4.2, PJRT 0.81, cpu, kernels 1 avx512"`
	for _, c := range []struct {
		field, there, here string
		names              bool
	}{{field, old, now, true}, {field, now, old, false}, {field, now, strings.Replace(now, "avx512", "avx2", 1), false}, {"seed", old, now, false}} {
		said := inWords(&ledger.MismatchError{File: "x.ledger", Field: c.field, Ledger: c.there, Run: c.here})
		if strings.Contains(said, "--engine xla:cpu,kernels=off") != c.names {
			t.Errorf("%s from %s to %s: %s", c.field, c.there, c.here, said)
		}
	}
}
