package rs

import (
	"runtime"
	"testing"

	"github.com/certspec/certspec/classifier"
)

func TestWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for threads, want := range map[int]int{0: 16, 1: 16, 3: 6, 8: 2, 16: 2, 64: 2} {
		if got := DefaultWorkers(classifier.Identity{Threads: threads}); got != want {
			t.Errorf("%d calls at once of a model of %d threads on 16 processors; expected %d", got, threads, want)
		}
	}
}
