package ledgerio

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/rs/ledger"
)

func appendLook(b []byte, l ledger.Look) []byte {
	for _, v := range [...]int{l.Image, l.Label, l.From, l.To, l.Misses} {
		b = strconv.AppendInt(b, int64(v), 10)
		b = append(b, ' ')
	}
	for _, c := range l.Counts {
		b = strconv.AppendInt(b, int64(c.Class), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(c.N), 10)
		b = append(b, ' ')
	}
	b[len(b)-1] = '\n'
	return b
}

// parseLook reads a line without its newline. The counts are appended to arena, which
// should have room for one of each class, and the look's slice lies in it.
func parseLook(line []byte, h *ledger.Header, arena []ledger.Count) (ledger.Look, []ledger.Count, error) {
	var l ledger.Look
	rest := line
	for i, dst := range [...]*int{&l.Image, &l.Label, &l.From, &l.To, &l.Misses} {
		if i > 0 {
			if len(rest) == 0 || rest[0] != ' ' {
				return l, arena, fmt.Errorf("%s: want image, label, from, to, misses and class:count separated by "+
					"one space", journal.Quote(line))
			}
			rest = rest[1:]
		}
		if dst == &l.Label && len(rest) >= 2 && rest[0] == '-' && rest[1] == '1' {
			l.Label, rest = -1, rest[2:]
			continue
		}
		v, n := parseInt(rest)
		if n == 0 {
			return l, arena, fmt.Errorf("%s: want whole numbers, not negative", journal.Quote(line))
		}
		*dst, rest = v, rest[n:]
	}
	if l.To <= l.From {
		return l, arena, fmt.Errorf("blocks %d to %d: want at least one block", l.From, l.To)
	}
	samples := int64(l.To-l.From) * int64(h.Block)
	if int64(l.To-l.From) > maxSamples/int64(h.Block) {
		return l, arena, fmt.Errorf("blocks %d to %d of %d noise samples are more than %d noise samples", l.From, l.To,
			h.Block, int64(maxSamples))
	}
	sum := int64(l.Misses)
	start := len(arena)
	class := -1
	for len(rest) > 0 {
		c, n := 0, 0
		if rest[0] == ' ' {
			c, n = parseInt(rest[1:])
		}
		if n == 0 || len(rest) <= n+1 || rest[n+1] != ':' {
			return l, arena[:start], fmt.Errorf("%s: want class:count, separated by one space", journal.Quote(rest))
		}
		rest = rest[n+2:]
		v, n := parseInt(rest)
		if n == 0 || v == 0 {
			return l, arena[:start], fmt.Errorf("count of class %d: want a positive whole number", c)
		}
		if c <= class || c >= h.Model.Classes {
			return l, arena[:start], fmt.Errorf("class %d: want ascending classes below %d", c, h.Model.Classes)
		}
		class, rest = c, rest[n:]
		sum += int64(v)
		if sum > samples {
			break
		}
		arena = append(arena, ledger.Count{Class: int32(c), N: v})
	}
	if sum != samples {
		return l, arena[:start], fmt.Errorf("counts and misses sum to %d, the blocks %d to %d have %d noise samples",
			sum, l.From, l.To, samples)
	}
	l.Counts = arena[start:len(arena):len(arena)]
	return l, arena, nil
}

// maxSamples bounds the samples of one look, so that no sum of counts overflows.
const maxSamples = 1 << 50

// parseInt reads a whole number without sign or needless zeros and says how many bytes it has; 0: there is none.
func parseInt(b []byte) (v, n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		if n > 0 && v == 0 || v > maxSamples {
			return 0, 0
		}
		v = 10*v + int(b[n]-'0')
		n++
	}
	return v, n
}

func appendClaim(b []byte, c ledger.Claim) []byte {
	return fmt.Appendf(b, "%d %d %d %d %s %s\n", c.Image, c.Class, c.K, c.N, c.Lower, c.Radius)
}

func parseClaim(line []byte, h *ledger.Header) (ledger.Claim, error) {
	var c ledger.Claim
	bad := func() (ledger.Claim, error) {
		return c, fmt.Errorf("%s: want a claim: image, class, k, n, lower bound, radius", journal.Quote(line))
	}
	rest := line
	for _, dst := range [...]*int{&c.Image, &c.Class, &c.K, &c.N} {
		if dst == &c.Class && bytes.HasPrefix(rest, []byte("-1 ")) {
			c.Class, rest = -1, rest[3:]
			continue
		}
		v, n := parseInt(rest)
		if n == 0 || n >= len(rest) || rest[n] != ' ' {
			return bad()
		}
		*dst, rest = v, rest[n+1:]
	}
	text := string(rest)
	for i := range text {
		if text[i] == ' ' {
			c.Lower, c.Radius = text[:i], text[i+1:]
			break
		}
	}
	if !isDecimal(c.Lower) || !isDecimal(c.Radius) {
		return bad()
	}
	if c.Class >= h.Model.Classes || c.K > c.N {
		return c, fmt.Errorf("claim: class %d of %d, %d hits of %d", c.Class, h.Model.Classes, c.K, c.N)
	}
	return c, nil
}

// isDecimal reports whether s is a finite decimal that is not negative, in the one form that is written:
// digits, and behind a point at least one more.
func isDecimal(s string) bool {
	if len(s) == 0 || len(s) > 400 {
		return false
	}
	point := -1
	for i := range len(s) {
		switch {
		case s[i] >= '0' && s[i] <= '9':
		case s[i] == '.' && point < 0:
			point = i
		default:
			return false
		}
	}
	whole := s
	if point >= 0 {
		whole = s[:point]
		if point == len(s)-1 {
			return false
		}
	}
	return whole == "0" || whole != "" && whole[0] != '0'
}
