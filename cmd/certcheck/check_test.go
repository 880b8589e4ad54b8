package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func TestHonestLedgersHold(t *testing.T) {
	for _, toy := range toys {
		for seed := range uint64(5) {
			looks := toy.draw(rand.New(rand.NewPCG(seed, 1)))
			text := sealed([]string{toy.header()}, looks, toy.close(looks))
			if c, reason := check(strings.NewReader(text), 1e9); reason != "" {
				t.Fatalf("%s: line %d: %s\n%s", toy.rule, c.at+1, reason, c.line)
			}
		}
	}
	for _, file := range []string{"quickstart", "fmnist-cnn-s025"} {
		text, err := os.ReadFile("../../notebooks/results/" + file + ".ledger")
		if err != nil {
			t.Fatal(err)
		}
		if c, reason := check(bytes.NewReader(text), 1e9); reason != "" {
			t.Fatalf("%s: line %d: %s", file, c.at+1, reason)
		}
	}
}

// The values are of §11.1 of the specification of certspec (SciPy), to 10 or 8 decimals.
func TestClopperPearson(t *testing.T) {
	for _, v := range []struct {
		k, n  int
		lower json.Number
	}{
		{100000, 100000, "0.9999309248"}, {99999, 100000, "0.9999076697"}, {99000, 100000, "0.9889893404"}, {90000, 100000, "0.8970364962"},
		{50490, 100000, "0.5000089488"}, {9900, 10000, "0.98653116"}, {1000, 1000, "0.9931160484"}, {90, 100, "0.77532988"},
	} {
		unit := exact(json.Number("1e-" + fmt.Sprint(len(v.lower)-2)))
		judge := func(q *big.Rat) (reason string) {
			defer func() {
				if r := recover(); r != nil {
					reason = r.(string)
				}
			}()
			c := &checker{terms: 1e9, levels: []level{near(big.NewRat(1, 1000))}}
			c.clopperPearson(&image{hits: []int{v.k}, samples: []int{v.n}}, 0, probability(times(q, big.NewRat(whole15, 1)).Num().Int64()))
			return ""
		}
		if r := judge(new(big.Rat).Add(exact(v.lower), unit)); !strings.Contains(r, "do not prove") {
			t.Errorf("%d of %d: a unit above %s: %q", v.k, v.n, v.lower, r)
		}
		if r := judge(new(big.Rat).Sub(exact(v.lower), unit)); !strings.Contains(r, "prove a larger") {
			t.Errorf("%d of %d: a unit below %s: %q", v.k, v.n, v.lower, r)
		}
	}
}

// Φ(1), Φ(2), Φ(3) as tables have them.
func TestPhi(t *testing.T) {
	c := &checker{sigma: big.NewRat(1, 4)}
	for x, want := range map[int64]json.Number{0: "0.5", 1: "0.841344746068542948585232545632", 2: "0.977249868051820792799717362833", 3: "0.998650101968369905473348185232"} {
		off := new(big.Float).Sub(c.phi(big.NewRat(x, 4)), number(exact(want)))
		if f, _ := off.Float64(); f > 1e-30 || f < -1e-30 {
			t.Errorf("Φ(%d) is off by %g", x, f)
		}
	}
}

// The table of §10.5 of the specification: least hits at α = .001.
func TestLeastHits(t *testing.T) {
	c := &checker{terms: 1e9, alpha: big.NewRat(1, 1000), least: map[string]int{}}
	for bound, table := range map[json.Number][]int{
		"0.5":      {20, 19, 50, 40, 100, 71, 500, 299, 1000, 571, 10000, 5235},
		"0.841345": {50, 50, 100, 97, 500, 453, 1000, 889, 10000, 8578},
		"0.977250": {500, 499, 1000, 994, 10000, 9835},
	} {
		for i := 0; i < len(table); i += 2 {
			n, least := table[i], table[i+1]
			if got := c.leastHits(n, exact(bound)); got != least {
				t.Errorf("p0 = %s, N = %d: the least A is %d, want %d", bound, n, got, least)
			}
		}
	}
	if q := exact("0.841345"); c.leastHits(20, q) != 21 || c.leastHits(46, q) != 47 || c.leastHits(47, q) != 47 {
		t.Error("p0 = .841345: the shortest streak that wins is not 47")
	}
}
