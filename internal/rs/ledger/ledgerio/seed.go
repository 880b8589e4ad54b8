package ledgerio

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/certspec/certspec/rs/ledger"
)

// DerivedSeed is the first 8 bytes, most significant first, of the SHA-256 of SeedText.
func DerivedSeed(h ledger.Header) uint64 {
	sum := sha256.Sum256(SeedText(h))
	return binary.BigEndian.Uint64(sum[:])
}

// SeedText is the text from which a seed called derived is derived, in version 1 of its encoding: the
// digest of the weights, shape and classes of the model, the digest and the number of the images,
// and the settings. Left out are engine, threads and instructions, so that the same weights meet
// the same noise on every engine and engines can be compared; names; the program; and the shard and
// the scores, so that the shards of a run fit together and scores change no count.
//
// The bytes are fixed for ever, as every published ledger has its seed from them: they are JSON
// without blanks, in this order, with empty values where something is left out. A field that a
// header gets later enters nothing here; what must enter calls for a version 2 of the encoding, and
// for a version of the header that says so.
func SeedText(h ledger.Header) []byte {
	var t seedWriter
	t.raw(`{"format":"certspec-ledger","version":1,"program":{"version":""}`)
	t.raw(`,"model":{"name":"","shape":{"height":`).int(h.Model.Shape.Height).raw(`,"width":`).int(h.Model.Shape.Width)
	t.raw(`,"channels":`).int(h.Model.Shape.Channels).raw(`},"classes":`).int(h.Model.Classes)
	t.raw(`,"identity":{"weights":`).text(h.Model.Identity.Weights)
	t.raw(`,"engine":"","engine_version":"","threads":0,"instruction_set":""}}`)
	t.raw(`,"data":{"name":"","digest":`).text(h.Data.Digest).raw(`,"images":`).int(h.Data.Images)
	t.raw(`},"sigma":`).number(h.Sigma).raw(`,"noise":`).text(string(h.Noise))
	t.raw(`,"seed":"0","seed_chosen":`).bool(h.SeedChosen)
	t.raw(`,"alpha":`).number(h.Alpha).raw(`,"selection":`).int(h.Selection).raw(`,"block":`).int(h.Block)
	t.rule(h.Rule)
	t.raw(`,"order":`).text(h.Order).raw(`}`)
	return t
}

// rule writes a rule; what most rules do not have is left out where it is zero.
func (t *seedWriter) rule(r ledger.Rule) {
	t.raw(`,"rule":{"name":`).text(string(r.Name))
	if r.Tolerance != 0 {
		t.raw(`,"tolerance":`).number(r.Tolerance)
	}
	if r.Relative {
		t.raw(`,"relative":true`)
	}
	t.raw(`,"looks":`)
	seedList(t, r.Looks, func(l ledger.Level) {
		t.raw(`{"copies":`).int(l.Samples).raw(`,"alpha":`).number(l.Alpha).raw(`}`)
	})
	if len(r.Sizes) > 0 {
		t.raw(`,"sizes":`)
		seedList(t, r.Sizes, func(s ledger.Size) { t.raw(`{"hits":`).int(s.Hits).raw(`,"copies":`).int(s.Samples).raw(`}`) })
	}
	if len(r.Targets) > 0 {
		t.raw(`,"targets":`)
		seedList(t, r.Targets, func(x ledger.Target) {
			t.raw(`{"radius":`).number(x.Radius).raw(`,"probability":`).text(x.Probability).raw(`}`)
		})
	}
	if r.Futility != 0 {
		t.raw(`,"futility":`).number(r.Futility)
	}
	t.raw(`,"budget":`).text(r.Budget).raw(`}`)
}

// seedWriter writes the text that a seed is derived from.
type seedWriter []byte

func (t *seedWriter) raw(s string) *seedWriter { *t = append(*t, s...); return t }
func (t *seedWriter) int(v int) *seedWriter    { *t = strconv.AppendInt(*t, int64(v), 10); return t }
func (t *seedWriter) bool(v bool) *seedWriter  { *t = strconv.AppendBool(*t, v); return t }

func seedList[T any](t *seedWriter, list []T, write func(T)) {
	if list == nil {
		t.raw("null")
		return
	}
	t.raw("[")
	for i, v := range list {
		if i > 0 {
			t.raw(",")
		}
		write(v)
	}
	t.raw("]")
}

// number writes the shortest decimal that reads as v: with an exponent, of no needless zero, below
// 10⁻⁶ and from 10²¹ on.
func (t *seedWriter) number(v float64) *seedWriter {
	if size := max(v, -v); size == 0 || size >= 1e-6 && size < 1e21 {
		*t = strconv.AppendFloat(*t, v, 'f', -1, 64)
		return t
	}
	b := strconv.AppendFloat(*t, v, 'e', -1, 64)
	if n := len(b); b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b = append(b[:n-2], b[n-1])
	}
	*t = b
	return t
}

// text writes a string in quotes. Escaped are quotes, backslashes, control characters, <, > and &,
// and the separators of lines and paragraphs; bytes that are no UTF-8 become the character U+FFFD.
func (t *seedWriter) text(s string) *seedWriter {
	const digits = "0123456789abcdef"
	b := append(*t, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError &&
			n == 1:
			b = append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	*t = append(b, '"')
	return t
}
