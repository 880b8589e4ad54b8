package nb

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
)

// Bins, mean and the broken axis, by hand.
func TestHistograms(t *testing.T) {
	m := &ood.Measurement{Header: record.Header{Epsilon: 0.1, Bound: &record.Bound{}, Model: record.Model{Name: "net", Classes: 10}}}
	m.Header.Data.Name = "digits"
	for _, upper := range []float64{0.1, 0.11, 0.55, 1} { // the first two in bin 0, .55 at the left end of bin 25, 1 in the last, closed
		m.Lines = append(m.Lines, record.Line{Log: -3, Upper: math.Log(upper)})
	}
	m.Lines = append(m.Lines, record.Line{Log: math.NaN(), Upper: -1}) // counts as 1
	h, err := newHistogram(m)
	if err != nil {
		t.Fatal(err)
	}
	if h.shares[0] != 0.4 || h.shares[24]+h.shares[25] != 0.2 || h.shares[49] != 0.4 || math.Abs(h.mean-(0.1+0.11+0.55+2)/5) > 1e-12 {
		t.Errorf("%v, mean %v", h.shares, h.mean)
	}
	if bent(0.1) != 0.1 || math.Abs(bent(0.7)-0.25) > 1e-12 {
		t.Error(bent(0.1), bent(0.7))
	}
	f := HistogramRows([]*ood.Measurement{m}, []*ood.Measurement{m})
	if !strings.Contains(f.Caption, "net on digits: upper bound, ε = 0.1, mean 0.552") {
		t.Error(f.Caption)
	}
	if data, err := f.svg(); err != nil || !strings.Contains(string(data), "20 %") {
		t.Errorf("%v", err)
	}
}
