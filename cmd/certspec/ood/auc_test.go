package ood

import "testing"

// What is printed as a guarantee is rounded to its safe side, and a share that needs no rounding stays.
func TestGuaranteesAreRoundedOutwards(t *testing.T) {
	for got, want := range map[string]string{
		atMost(0.0001):  "0.1 %",
		atMost(0.029):   "2.9 %",
		atMost(0):       "0.0 %",
		atMost(1):       "100.0 %",
		atLeast(0.9996): "99.9 %",
		atLeast(0.57):   "57.0 %",
		atLeast(0):      "0.0 %",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
