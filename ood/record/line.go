package record

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/journal"
)

// up is a number with 18 significant digits that is not below v, and that a reader of float64 reads as v.
func up(v float64) string { return outwards(v, 1) }

// down is a number with 18 significant digits that is not above v.
func down(v float64) string { return outwards(v, -1) }

func outwards(v float64, side int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return nearest(v)
	}
	text := strconv.FormatFloat(v, 'e', 17, 64)
	if moved, ok := lastDigit(v, text, side); ok {
		return moved
	}
	return exactly(v, text, side)
}

// lastDigit moves the last digit of v's text outwards where that changes no other and where 61
// digits say which way the text was rounded.
func lastDigit(v float64, text string, side int) (string, bool) {
	mantissa, power, _ := strings.Cut(text, "e")
	long, again, _ := strings.Cut(strconv.FormatFloat(v, 'e', 60, 64), "e")
	if power != again || strings.Trim(long[len(mantissa):], "0") == "" {
		return "", false
	}
	below := mantissa == long[:len(mantissa)] // the magnitude of the text is below that of v
	grow := (side > 0) == (v > 0)
	last := mantissa[len(mantissa)-1]
	switch {
	case grow != below:
		return text, true
	case grow && last < '9':
		last++
	case !grow && last > '0':
		last--
	default:
		return "", false
	}
	return mantissa[:len(mantissa)-1] + string(last) + "e" + power, true
}

// exactly is outwards in fractions.
func exactly(v float64, text string, side int) string {
	exact := new(big.Rat).SetFloat64(v)
	printed, _ := new(big.Rat).SetString(text)
	if printed.Cmp(exact)*side >= 0 {
		return text
	}
	// The last digit moves by one.
	_, power, _ := strings.Cut(text, "e")
	step, _ := new(big.Rat).SetString(fmt.Sprintf("%de%s", side, power))
	step.Mul(step, big.NewRat(1, 1e17))
	return new(big.Float).SetPrec(2000).SetRat(printed.Add(printed, step)).Text('e', 17)
}

// nearest is the shortest text that is read as v.
func nearest(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case v == 0:
		return "0e+00"
	}
	return strconv.FormatFloat(v, 'e', -1, 64)
}

// append writes the line of an image.
func (h *Header) append(b []byte, l Line) []byte {
	b = fmt.Appendf(b, "%d %d %d %s ", l.Image, l.Label, l.Class, nearest(l.Log))
	if h.Attack != nil {
		return fmt.Appendf(b, "%s %s\n", nearest(l.Attacked), l.By)
	}
	return fmt.Appendf(b, "%s %s\n", up(l.Upper), down(l.Lower))
}

// parse reads the line of an image, which has one form: what append gives of it.
func (h *Header) parse(line []byte) (Line, error) {
	fields := bytes.Split(line, []byte{' '})
	if len(fields) != 6 {
		return Line{}, fmt.Errorf("%s: want six fields, separated by one space", journal.Quote(line))
	}
	var l Line
	for i, dst := range []*int{&l.Image, &l.Label, &l.Class} {
		v, err := strconv.Atoi(string(fields[i]))
		if err != nil {
			return l, fmt.Errorf("%s: want whole numbers for image, label and class", journal.Quote(line))
		}
		*dst = v
	}
	numbers := []*float64{&l.Log, &l.Upper, &l.Lower}
	if h.Attack != nil {
		numbers, l.By = []*float64{&l.Log, &l.Attacked}, string(fields[5])
	}
	for i, dst := range numbers {
		v, err := strconv.ParseFloat(string(fields[3+i]), 64)
		if err != nil {
			return l, fmt.Errorf("%s: want a logarithm", journal.Quote(fields[3+i]))
		}
		*dst = v
	}
	if again := h.append(nil, l); !bytes.Equal(again[:len(again)-1], line) {
		return l, fmt.Errorf("%s: want %s", journal.Quote(line), journal.Quote(again[:len(again)-1]))
	}
	return l, h.sensible(l)
}

// Check refuses what no run may write: classes and logarithms out of range, a confidence outside its bounds.
func (h *Header) Check(l Line) error {
	if err := h.sensible(l); err != nil {
		return fmt.Errorf("ood: image %d: %w", l.Image, err)
	}
	return nil
}

// sensible refuses values that no run writes.
func (h *Header) sensible(l Line) error {
	least := -math.Log(float64(h.Model.Classes)) * (1 + 1e-9)
	logarithm := func(v float64) bool { return v <= 0 && v >= least }
	switch {
	case l.Image < 0 || l.Label < -1:
		return fmt.Errorf("image %d with label %d", l.Image, l.Label)
	case l.Class < 0 || l.Class >= h.Model.Classes:
		return fmt.Errorf("class %d of %d", l.Class, h.Model.Classes)
	case !math.IsNaN(l.Log) && !logarithm(l.Log):
		return fmt.Errorf("a log-confidence of %v, want %.6g to 0", l.Log, least)
	case h.Attack != nil && !(math.IsNaN(l.Attacked) || logarithm(l.Attacked)):
		return fmt.Errorf("a log-confidence of %v under attack, want %.6g to 0", l.Attacked, least)
	case h.Attack != nil && l.Attacked < l.Log:
		return fmt.Errorf("under attack %v, below the image's own %v", l.Attacked, l.Log)
	case h.Attack != nil && l.By != "clean" && !slices.Contains(h.Attack.Names, l.By):
		return fmt.Errorf("found by %q, which is no attack of the header", l.By)
	case h.Attack != nil:
	case !logarithm(l.Upper) || !logarithm(l.Lower) || l.Lower > l.Upper:
		return fmt.Errorf("bounds %v to %v on a log-confidence, want %.6g to 0", l.Lower, l.Upper, least)
	case l.Log > l.Upper || l.Log < l.Lower:
		return fmt.Errorf("a log-confidence of %v outside its bounds, %v to %v", l.Log, l.Lower, l.Upper)
	}
	return nil
}
