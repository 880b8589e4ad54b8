package mip

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// WriteLP writes the program, linearised, in the LP format of CPLEX, which HiGHS, CBC, GLPK, SCIP and Gurobi
// read. The optimum divided by N is the certified calibration error. For samples n and bins m, counted from 1,
// with y_nm in place of a_nm·z_nm and binary s_m for the sign of S_m = Σ_n (y_nm − c_n a_nm):
//
//	maximise    Σ_m t_m
//	subject to  Σ_m a_nm = 1,
//	            max(l_n, L_m) a_nm ≤ y_nm ≤ min(u_n, U_m) a_nm,
//	            t_m ≤ S_m + 2 Q_m (1 − s_m),  t_m ≤ −S_m + 2 P_m s_m,
//
// where P_m and −Q_m are the largest and the least value that S_m can have. Variables of bins that a sample does
// not reach are left out.
func (p *Program) WriteLP(w io.Writer) error {
	out := &lpWriter{w: bufio.NewWriter(w)}
	n, bins := len(p.Correct), p.Bins.Len()
	fmt.Fprintf(out.w, "\\ certified calibration error of %d samples in %d bins: the optimum / %d\n", n, bins, n)
	reached := make([]bool, bins)
	plus, minus := make([]float64, bins), make([]float64, bins)
	p.each(func(i, m int, low, high float64) {
		reached[m] = true
		c := p.correctness(i)
		plus[m] += max(0, high-c)
		minus[m] += max(0, c-low)
	})
	out.begin("Maximize\n obj:")
	for m, r := range reached {
		if r {
			out.term(1, "t_%d", m+1)
		}
	}
	out.end("\nSubject To\n")
	last := -1
	p.each(func(i, m int, low, high float64) {
		if i != last {
			if last >= 0 {
				out.end(" = 1\n")
			}
			out.begin(fmt.Sprintf(" one_%d:", i+1))
			last = i
		}
		out.term(1, "a_%d_%d", i+1, m+1)
	})
	out.end(" = 1\n")
	p.each(func(i, m int, low, high float64) {
		out.begin(fmt.Sprintf(" low_%d_%d:", i+1, m+1))
		out.term(1, "y_%d_%d", i+1, m+1)
		out.term(-low, "a_%d_%d", i+1, m+1)
		out.end(" >= 0\n")
		out.begin(fmt.Sprintf(" high_%d_%d:", i+1, m+1))
		out.term(1, "y_%d_%d", i+1, m+1)
		out.term(-high, "a_%d_%d", i+1, m+1)
		out.end(" <= 0\n")
	})
	for m, r := range reached {
		if !r {
			continue
		}
		for _, side := range []struct {
			name        string
			sign, slack float64
			bound       float64
		}{{"plus", -1, 2 * minus[m], 2 * minus[m]}, {"minus", 1, -2 * plus[m], 0}} {
			out.begin(fmt.Sprintf(" %s_%d:", side.name, m+1))
			out.term(1, "t_%d", m+1)
			for i := range n {
				if m < p.low[i] || m > p.high[i] {
					continue
				}
				out.term(side.sign, "y_%d_%d", i+1, m+1)
				out.term(-side.sign*p.correctness(i), "a_%d_%d", i+1, m+1)
			}
			out.term(side.slack, "s_%d", m+1)
			out.end(" <= " + number(side.bound) + "\n")
		}
	}
	out.begin("Binary\n")
	p.each(func(i, m int, _, _ float64) { out.name("a_%d_%d", i+1, m+1) })
	for m, r := range reached {
		if r {
			out.name("s_%d", m+1)
		}
	}
	out.end("\nEnd\n")
	return out.w.Flush()
}

// each calls f for every bin that a sample reaches, with the interval of its confidence there.
func (p *Program) each(f func(i, m int, low, high float64)) {
	for i, l := range p.Lower {
		for m := p.low[i]; m <= p.high[i]; m++ {
			f(i, m, max(l, p.edges[m]), min(p.Upper[i], p.edges[m+1]))
		}
	}
}

func (p *Program) correctness(i int) float64 {
	if p.Correct[i] {
		return 1
	}
	return 0
}

// lpWriter writes expressions, a few terms per line.
type lpWriter struct {
	w     *bufio.Writer
	terms int
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (l *lpWriter) begin(text string) {
	l.w.WriteString(text)
	l.terms = 0
}

func (l *lpWriter) end(text string) { l.w.WriteString(text) }

// name writes the name of a variable.
func (l *lpWriter) name(format string, args ...any) {
	if l.terms > 0 && l.terms%6 == 0 {
		l.w.WriteString("\n")
	}
	l.terms++
	fmt.Fprintf(l.w, " "+format, args...)
}

// term writes a variable with its coefficient; nothing where that is 0.
func (l *lpWriter) term(coefficient float64, format string, args ...any) {
	if coefficient == 0 {
		return
	}
	sign := "+"
	if coefficient < 0 {
		sign, coefficient = "-", -coefficient
	}
	l.name(sign+" "+number(coefficient)+" "+format, args...)
}
