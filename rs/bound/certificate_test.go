package bound

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is published prints as digits that read as the same number, and is never above the exact value.
func TestCertificateRoundsDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		sigma := rapid.Float64Range(1e-3, 10).Draw(t, "sigma")
		p, err := Lower(k, n, rapid.Float64Range(1e-12, 0.5).Draw(t, "alpha"))
		if err != nil {
			t.Fatal(err)
		}
		exact, err := Radius(sigma, p)
		if err != nil {
			t.Fatal(err)
		}
		lower, radius, err := Certificate(sigma, p)
		if err != nil {
			t.Fatal(err)
		}
		// The decimal that is printed, not the float64 next to it, must lie below.
		printed, _, err := big.ParseFloat(strconv.FormatFloat(lower, 'f', -1, 64), 10, precision, big.ToNegativeInf)
		if err != nil {
			t.Fatal(err)
		}
		below := new(big.Float).Sub(number(1), number(p.Q))
		if printed.Cmp(below) > 0 || lower < p.P-2e-15 {
			t.Fatalf("bound %v became %v", p, lower)
		}
		if text := strconv.FormatFloat(lower, 'f', -1, 64); len(text) > len("0.")+Decimals {
			t.Fatalf("bound %s has more than %d decimals", text, Decimals)
		}
		text := strconv.FormatFloat(radius, 'f', -1, 64)
		// A radius close to 0 hangs on the last decimal of the bound.
		if radius > exact || lower >= 0.5 && radius < exact*(1-1e-8)-sigma*6e-15 {
			t.Fatalf("radius %v became %v", exact, radius)
		}
		if digits := strings.TrimLeft(strings.ReplaceAll(text, ".", ""), "0"); len(strings.TrimRight(digits, "0")) > 9 {
			t.Fatalf("radius %s has more than 9 digits", text)
		}
	})
}

func TestRoundDown(t *testing.T) {
	for v, want := range map[float64]float64{1.23456789999: 1.23456789, 0.000123456789999: 0.000123456789, 3: 3, 0: 0, 9.99999999999: 9.99999999} {
		if got := roundDown(v); got != want {
			t.Errorf("%v became %v, want %v", v, got, want)
		}
	}
}

func TestCertificateBadInput(t *testing.T) {
	for sigma, p := range map[float64]Probability{0: {0.9, 0.1}, math.NaN(): {0.9, 0.1}, 0.25: {math.NaN(), 0.1}, 0.5: {0.9, 0.2}, 1: {1, 0}} {
		var input *InputError
		if lower, radius, err := Certificate(sigma, p); !errors.As(err, &input) {
			t.Errorf("Certificate(%g, %v) = %v, %v, %v", sigma, p, lower, radius, err)
		}
	}
}

// To 15 decimals, by mpmath: ncdf(1) = .841344746068542948585…, ncdf(2) = .977249868051820792799…,
// ncdf(1.2) = .884930329778291730788…, ncdf(7.5) = .99999999999996809108…, ncdf(.001) = .500398942214…
func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		radius, sigma float64
		want          string
	}{
		{0, .25, "0.500000000000000"},
		{.25, .25, "0.841344746068543"},
		{.5, .25, "0.977249868051821"},
		{.3, .25, "0.884930329778292"},
		{7.5, 1, "0.999999999999969"},
		{7.94, 1, "0.999999999999999"}, // 1 − 1.01e-15
		{.1, .1, "0.841344746068543"},
		{1e-300, 1, "0.500000000000001"},
	} {
		got, err := Threshold(c.radius, c.sigma)
		if text := strconv.FormatFloat(got.P, 'f', Decimals, 64); err != nil || text != c.want {
			t.Errorf("Threshold(%v, %v) = %s, %v, want %s", c.radius, c.sigma, text, err, c.want)
		}
		if miss, err := strconv.ParseFloat(strconv.FormatFloat(got.Q, 'f', Decimals, 64), 64); err != nil || miss != got.Q || got.P+got.Q != 1 {
			t.Errorf("Threshold(%v, %v) = %+v", c.radius, c.sigma, got)
		}
		// The radius of the threshold is the radius that was asked for, but for the outward rounding.
		if r, err := Radius(c.sigma, got); err != nil || r < c.radius*(1-2e-9) {
			t.Errorf("the radius at Threshold(%v, %v) is %v, %v", c.radius, c.sigma, r, err)
		}
	}
	for _, c := range []struct {
		radius, sigma float64
		argument      string
	}{
		{8, 1, "radius"}, {7.95, 1, "radius"}, {1e300, 1, "radius"}, {-0.1, 1, "radius"}, {math.NaN(), 1, "radius"}, {math.Inf(1), 1, "radius"},
		{1, 0, "sigma"}, {1, math.NaN(), "sigma"}, {1, math.Inf(1), "sigma"}, {1, -1, "sigma"},
	} {
		var input *InputError
		if p, err := Threshold(c.radius, c.sigma); !errors.As(err, &input) || input.Argument != c.argument {
			t.Errorf("Threshold(%v, %v) = %v, %v", c.radius, c.sigma, p, err)
		}
	}
}

func TestDecimals(t *testing.T) {
	// The decimal that is printed, not the float64 next to it.
	printed := func(v float64) *big.Float {
		f, _, err := big.ParseFloat(strconv.FormatFloat(v, 'f', Decimals, 64), 10, precision, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(-rapid.Float64Range(0, 50).Draw(t, "minus ln x"))
		for _, p := range []Probability{{x, complementUp(x)}, {complementDown(x), x}} {
			down := p.Down()
			if exact := new(big.Float).Sub(number(1), number(p.Q)); printed(down).Cmp(exact) > 0 || down < p.P-2.2e-15 || down < 0 {
				t.Fatalf("%+v rounded down is %v", p, down)
			}
		}
		for _, p := range []Probability{{x, complementDown(x)}, {complementUp(x), x}} {
			if up := p.Up(); printed(up).Cmp(number(p.P)) < 0 || up > p.P+2.2e-15 || up > 1 {
				t.Fatalf("%+v rounded up is %v", p, up)
			}
		}
	})
}
