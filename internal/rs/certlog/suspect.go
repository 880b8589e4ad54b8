package certlog

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/bound"
)

// testSets are the sizes of the test sets that the field certifies on: CIFAR and MNIST, SVHN, ImageNet.
var testSets = []int{10_000, 26_032, 50_000}

// severityBlock is the number of images of a severity in the files of CIFAR-10-C, which have so many severities.
const (
	severityBlock = 10_000
	severities    = 5
)

// suspect warns of gaps in the indices and of a last index at which no usual test set ends. It judges only logs
// whose indices go in even steps for the most part.
func (l *Log) suspect() {
	step := l.step()
	if step == 0 {
		return
	}
	missing, first := 0, 0
	for i := 1; i < len(l.Rows); i++ {
		if d := l.Rows[i].Image - l.Rows[i-1].Image; d > step {
			if missing == 0 {
				first = l.Rows[i-1].Image + step
			}
			missing += (d - 1) / step
		}
	}
	if missing > 0 {
		l.warn("indices go in steps of %d, but %d are missing, the first is %d", step, missing, first)
	}
	// A short log of neighbouring images was hardly meant to cover a test set.
	if least := map[bool]int{true: 100, false: 10}[step == 1]; len(l.Rows) < least {
		return
	}
	begin, last := l.Rows[0].Image, l.Rows[len(l.Rows)-1].Image
	ends := func(size int) bool { return last < size && size <= last+step }
	// The files of CIFAR-10-C have five blocks, one for each severity; a log may be of one of them.
	block := begin - begin%severityBlock
	if ends(block+severityBlock) && begin < block+step && block < severities*severityBlock {
		return
	}
	if !slices.ContainsFunc(testSets, ends) {
		l.warn("the last index is %d, and indices go in steps of %d: no test set of 10,000, 26,032 or 50,000 images "+
			"ends there, so the log may be truncated", last, step)
	}
}

// step is the least distance of an index from the one before that at least half of the rows have; else 0.
func (l *Log) step() int {
	counts := map[int]int{}
	for i := 1; i < len(l.Rows); i++ {
		counts[l.Rows[i].Image-l.Rows[i-1].Image]++
	}
	step := 0
	for d, n := range counts {
		if d > 0 && 2*n >= len(l.Rows)-1 && (step == 0 || d < step) {
			step = d
		}
	}
	return step
}

// CheckRadii warns of radii above what n samples, a failure probability alpha and noise of standard
// deviation sigma can prove: σ·Φ⁻¹(α^(1/n)), the radius where all samples hit. A radius counts as
// above where it still is when half a unit of its last printed digit is taken off: printing may
// have rounded it up by that.
//
// Errors: n, alpha or sigma out of range, as *bound.InputError.
func (l *Log) CheckRadii(n int, alpha, sigma float64) error {
	lower, err := bound.Lower(n, n, alpha)
	if err != nil {
		return fmt.Errorf("certlog: %w", err)
	}
	most, err := bound.Radius(sigma, lower)
	if err != nil {
		return fmt.Errorf("certlog: %w", err)
	}
	const rounding = 1e-8 // of most, which is rounded down
	above, largest := 0, 0
	for i, row := range l.Rows {
		if row.Radius-halfUnit(row.Radius, l.Digits) > most*(1+rounding) {
			if above++; above == 1 || row.Radius > l.Rows[largest].Radius {
				largest = i
			}
		}
	}
	if above > 0 {
		l.warn("%s of %s radii are above %.6f, the largest that n = %s noise samples can prove at α = %g and σ = "+
			"%g; the largest is %v, of idx %d",
			printable.Count(above), printable.Count(len(l.Rows)), most, printable.Count(n), alpha, sigma,
			l.Rows[largest].Radius, l.Rows[largest].Image)
	}
	return nil
}

func (l *Log) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}
