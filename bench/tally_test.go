package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A tally that was stopped and read again ends as one that was not, and is not mixed with other settings.
func TestTallyGoesOn(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "state.json")
	one := func(random *rand.Rand) (counts, error) { return counts{Trials: 10, False: random.IntN(10)}, nil }
	open := func(path, settings string) *tally {
		k, err := openTally(path, settings)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	whole, err := open("", "n 1").upTo(ctx, "a", 20, one)
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(ctx)
	chunks := 0
	if _, err := open(path, "n 1").upTo(stop, "a", 20, func(random *rand.Rand) (counts, error) {
		if chunks++; chunks == 8 {
			cancel()
		}
		return one(random)
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped with %v", err)
	}
	k := open(path, "n 1")
	if got := k.Counts["a"].Chunks; got != 7 {
		t.Errorf("%d chunks were kept, want 7", got)
	}
	if parts, err := k.upTo(ctx, "a", 20, one); err != nil || !reflect.DeepEqual(parts, whole) {
		t.Errorf("in two parts %+v (%v), in one %+v", parts, err, whole)
	}
	if other, _ := k.upTo(ctx, "b", 20, one); other.False == whole.False {
		t.Error("another name draws the same numbers")
	}
	if _, err := openTally(path, "n 2"); err == nil || !strings.Contains(err.Error(), "n 1") {
		t.Errorf("other settings: %v", err)
	}
}
