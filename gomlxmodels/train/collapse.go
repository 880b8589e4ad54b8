package train

import (
	"fmt"
	"math"
	"slices"
)

// A network that learns from further sets may end by giving every image the uniform distribution, which it does not leave again (Bitterwolf,
// Meinke and Hein 2020, section 4): its cross-entropy is then ln K.
const (
	collapseNear  = 0.01
	collapseAfter = 5 // epochs that are not looked at
	collapseStop  = 3 // epochs in a row that end a run
	inLoss        = "cross-entropy"
)

// collapsed is the number of epochs, up to the last, in which the network was near the uniform distribution.
func (p *plan) collapsed(s *state) int {
	at := slices.Index(s.Terms, inLoss)
	if len(p.more) == 0 || at < 0 {
		return 0
	}
	n := 0
	for i := len(s.Log) - 1; i >= collapseAfter && math.Abs(s.Log[i].Terms[at]-math.Log(float64(len(p.run.Classes)))) <= collapseNear; i-- {
		n++
	}
	return n
}

// checkCollapse is the error that ends a run.
func (p *plan) checkCollapse(s *state) error {
	if p.collapsed(s) < collapseStop {
		return nil
	}
	last := s.Log[len(s.Log)-1]
	return fmt.Errorf("train: the network has collapsed: after epoch %d its cross-entropy is %.4f, within %g of ln %d in %d epochs, that of the same confidence in all classes for every image; "+
		"longer or later ramps of the out-images' weight and ε help, a lower learning rate, or beginning with a trained network; %s",
		len(s.Log), last.Terms[slices.Index(s.Terms, inLoss)], collapseNear, len(p.run.Classes), collapseStop, p.kept())
}
