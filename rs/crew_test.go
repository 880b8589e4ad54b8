package rs

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/certspec/certspec/rs/ledger"
)

// The number of calls at once that is faster in every round is taken, and remembered for as many processors; a round in which it is not keeps the default.
func TestCrewTakesTheFastest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.ledger")
	opt := Options{Ledger: path, Workers: 4}
	for _, c := range []struct {
		of   map[int]float64 // seconds that a call takes, by calls at once
		odd  int             // round in which calls take twice as long with half as many
		want int
	}{
		{map[int]float64{4: 1, 2: 1}, -1, 4},
		{map[int]float64{4: 1, 2: 0.97}, -1, 4},
		{map[int]float64{4: 1, 2: 0.6}, 1, 4},
		{map[int]float64{4: 1, 2: 0.6}, -1, 2},
	} {
		crew, err := newCrew(opt, false)
		if err != nil {
			t.Fatal(err)
		}
		var clock time.Time
		crew.now = func() time.Time { return clock }
		for call := 0; crew.tried != nil; call++ {
			if call > 1000 {
				t.Fatal("undecided after 1000 calls")
			}
			took := c.of[crew.limit]
			if crew.limit == 2 && crew.turn/2 == c.odd {
				took *= 2
			}
			crew.call()
			clock = clock.Add(time.Duration(took * float64(time.Second)))
			crew.called()
		}
		if crew.limit != c.want {
			t.Errorf("%v, odd round %d: %d calls at once, want %d; rates %v", c.of, c.odd, crew.limit, c.want, crew.rates)
		}
		if c.want == 2 {
			if err := crew.save(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	known, err := newCrew(opt, false)
	if err != nil || known.tried != nil || known.limit != 2 {
		t.Errorf("not remembered: %+v, %v", known, err)
	}
	opt.Workers = 3
	if own, err := newCrew(opt, true); err != nil || own.tried != nil || own.limit != 3 {
		t.Errorf("the number of the options is not taken: %+v, %v", own, err)
	}
	if err := ledger.AppendCalls(path, ledger.Calls{AtOnce: 2, Processors: runtime.GOMAXPROCS(0) + 1}); err != nil {
		t.Fatal(err)
	}
	if other, err := newCrew(opt, false); err != nil || other.tried == nil {
		t.Errorf("what was found on other processors is taken: %+v, %v", other, err)
	}
	if _, err := ledger.ReadChecks(path); err != nil {
		t.Error(err)
	}
}
