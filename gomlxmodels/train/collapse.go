package train

import (
	"fmt"
	"math"
	"slices"
)

// A network that learns from further sets may end by giving every image the uniform distribution,
// which it does not leave again (Bitterwolf, Meinke and Hein 2020, section 4): its cross-entropy is
// then ln K. And the discriminator of ProoD may give every image the same h: its ReLUs are then
// dead, and exp(−in) + exp(−bound) = σ(h) + σ(−h) is 1, which is more where it tells images apart.
const (
	collapseNear  = 0.01
	constantNear  = 0.001
	collapseAfter = 5 // epochs that are not looked at
	collapseStop  = 3 // epochs in a row that end a run
	inLoss        = "cross-entropy"
)

// collapsed is the number of epochs, up to the last, in which the network was near the uniform
// distribution, or its discriminator a constant.
func (p *plan) collapsed(s *state) int {
	return max(p.inARow(s, p.uniform), p.inARow(s, p.constant))
}

func (p *plan) inARow(s *state, is func(s *state, epoch int) bool) (n int) {
	for i := len(s.Log) - 1; i >= collapseAfter && is(s, i); i-- {
		n++
	}
	return n
}

func (p *plan) uniform(s *state, epoch int) bool {
	in, ok := s.term(epoch, inLoss)
	return ok && len(p.more) > 0 && math.Abs(in-math.Log(float64(len(p.run.Classes)))) <= collapseNear
}

func (p *plan) constant(s *state, epoch int) bool {
	in, ok := s.term(epoch, "in")
	bound, both := s.term(epoch, "bound")
	kappa := p.ramps["kappa"].At(p.clock(epoch))
	return ok && both && kappa > 0 && math.Exp(-in)+math.Exp(-bound/kappa) <= 1+constantNear
}

// term is the mean of a term of the loss over an epoch, and whether there is one of that name.
func (s *state) term(epoch int, name string) (float64, bool) {
	at := slices.Index(s.Terms, name)
	if at < 0 {
		return 0, false
	}
	return s.Log[epoch].Terms[at], true
}

// checkCollapse is the error that ends a run.
func (p *plan) checkCollapse(s *state) error {
	last := len(s.Log) - 1
	if p.inARow(s, p.uniform) >= collapseStop {
		in, _ := s.term(last, inLoss)
		return fmt.Errorf("train: the network has collapsed: after epoch %d its cross-entropy is %.4f, within %g of "+
			"ln %d in %d epochs, that of the same confidence in all classes for every image; "+
			"longer or later ramps of the out-images' weight and ε help, a lower learning rate, or beginning with a "+
			"trained network; %s",
			last+1, in, collapseNear, len(p.run.Classes), collapseStop, p.kept())
	}
	if p.inARow(s, p.constant) >= collapseStop {
		in, _ := s.term(last, "in")
		bound, _ := s.term(last, "bound")
		return fmt.Errorf("train: the discriminator has collapsed: after epoch %d its terms are %.4f and %.4f, "+
			"those of the same value for every image, in %d epochs; "+
			"a weight kappa of the out-images that does not begin at 0 helps, a longer ramp of ε, or a lower "+
			"learning rate; %s", last+1, in, bound, collapseStop, p.kept())
	}
	return nil
}
