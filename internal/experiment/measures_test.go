package experiment

import "testing"

// Every measure that a table can ask for has jobs, and no jobs are of another.
func TestEveryMeasureHasJobs(t *testing.T) {
	for _, m := range Declared() {
		if planners[m.Name()] == nil {
			t.Errorf("%s has no jobs", m.Name())
			continue
		}
		plannerOf(m) // panics where they are of another measure
	}
	if n := len(Declared()); len(planners) != n {
		t.Errorf("%d measures, jobs of %d", n, len(planners))
	}
}

// Every measure that a table can ask for has a runner, and no runner is of another.
func TestEveryMeasureHasARunner(t *testing.T) {
	for _, m := range Declared() {
		if runners[m.Name()] == nil {
			t.Errorf("%s has no runner", m.Name())
			continue
		}
		runners[m.Name()](m) // panics where it is of another measure
	}
	if n := len(Declared()); len(runners) != n {
		t.Errorf("%d measures, %d runners", n, len(runners))
	}
}

// Every measure that a table can ask for has a reader, and no reader is of another.
func TestEveryMeasureHasAReader(t *testing.T) {
	for _, m := range Declared() {
		if readers[m.Name()] == nil {
			t.Errorf("%s has no reader", m.Name())
			continue
		}
		readerOf(m) // panics where it is of another measure
	}
	if n := len(Declared()); len(readers) != n {
		t.Errorf("%d measures, %d readers", n, len(readers))
	}
}
