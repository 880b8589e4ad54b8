package main

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/rs"
)

// Drawn counts lead to as many claims and false ones as noise and network do, under every rule. A small bound and a large α give both
// parts enough of each. Each comparison fails by chance once in 10⁵ times.
func TestDrawnAsThrough(t *testing.T) {
	const trials = 1000
	r := soundness{Sigma: solvedSigma, Alpha: .2, N: 200}
	for _, k := range []solved{thirty[2], thirty[9], thirty[23]} { // of two and of four classes, and with NaN
		for _, name := range []rs.Rule{rs.Fixed, rs.Staged, rs.ISS, rs.Betting} {
			opt, plan, err := r.options(name)
			if err != nil {
				t.Fatal(err)
			}
			opt.Seed = 11
			truth := k.onGrid()
			claims, err := certifySolved(context.Background(), k, opt, trials)
			if err != nil {
				t.Fatal(err)
			}
			through := count(claims, truth)
			drawn, err := newDrawer(plan, truth, r.N).chunk(rand.New(rand.NewPCG(5, 6)), 20*trials)
			if err != nil {
				t.Fatal(err)
			}
			swapped := func(c counts) counts { return counts{Trials: c.Trials, False: c.Trials - c.Claims} }
			if apart(through, drawn) < 1e-5 || apart(swapped(through), swapped(drawn)) < 1e-5 {
				t.Errorf("%s, %s: %+v through the network, %+v drawn", k.Name, name, through, drawn)
			}
		}
	}
}
