package strength

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/rs/ledger"
)

// FromLedger proves strengths from a closed ledger, whose noise is on the grid. For a change of D
// levels let
//
//	N² = (‖D − u·(1, …, 1)‖/(255σ))² + (u/(255t))²,
//
// where t is the standard deviation of the noise's grey mode (see noise.Law.Grey) and u the best
// whole number; without that mode u is 0. Where N·σ is below the certified radius, the claim on the
// image holds for the changed one, too. The claims on all strengths of an image are false together
// with probability at most the ledger's α.
//
// Errors: a ledger that cannot be read, is not closed or has other noise; data of another digest;
// those of Prove.
func FromLedger(ctx context.Context, path string, data imageset.Source, o Options) (*File, error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, err
	}
	h := l.Header
	if !h.Noise.Sound() {
		return nil, fmt.Errorf("strength: ledger %s has the noise %s, in real arithmetic; expected "+
			"noise on the grid", path, h.Noise)
	}
	p := &prover{info: h.Model}
	if p.images, err = imageset.Open(ctx, data, o.Progress); err != nil {
		return nil, err
	}
	switch {
	case l.Claims == nil || len(l.Claims.Images) != p.images.Len() && p.images.Digest == h.Data.Digest:
		return nil, fmt.Errorf("strength: ledger %s has no claims on all images: certify to its end, "+
			"and merge shards", path)
	case p.images.Digest != h.Data.Digest || p.images.Shape != h.Model.Shape:
		return nil, fmt.Errorf("strength: ledger %s is of data %s, %s; the images of %s are %v, %s", path,
			h.Data.Name, h.Data.Digest, p.images.Name, p.images.Shape, p.images.Digest)
	}
	if p.orbits, err = o.Over.Orbits(p.images.Shape); err != nil {
		return nil, fmt.Errorf("strength: %w", err)
	}
	claims := map[int]ledger.Claim{}
	for _, c := range l.Claims.Images {
		claims[c.Image] = c
	}
	e, err := newEllipsoid(h)
	if err != nil {
		return nil, err
	}
	header := Header{Format: format, Version: version, Program: ledger.Program{Version: o.Program},
		Model: h.Model, Data: h.Data, Over: o.Over.String(), Prover: byEllipsoid, Ledger: l.Digest}
	f, err := p.record(ctx, header, o, func() func(context.Context, int) (Line, error) {
		return func(ctx context.Context, place int) (Line, error) {
			one, err := p.images.Read(ctx, place)
			if err != nil {
				return Line{}, err
			}
			id := p.images.IDs[place]
			claim, ok := claims[id]
			if !ok {
				return Line{}, fmt.Errorf("strength: ledger %s has no claim on image %d", path, id)
			}
			return e.line(p.orbits, one, claim, p.images.Labels[place])
		}
	})
	if f != nil {
		f.Settings = h.Settings()
	}
	return f, err
}

// ellipsoid is the set of changes that keep a claim.
type ellipsoid struct {
	cost *big.Rat // of a grey shift of one level, σ²/t²; nil: there is no such mode
}

// slack covers that σ and t are decimals here and float64 in the sampler.
var slack = big.NewRat(1e12+1, 1e12)

func newEllipsoid(h ledger.Header) (ellipsoid, error) {
	sd, more := h.Noise.Grey()
	if !more {
		return ellipsoid{}, nil
	}
	sigma, ok := new(big.Rat).SetString(fmt.Sprint(h.Sigma))
	t, good := new(big.Rat).SetString(fmt.Sprint(sd))
	if !ok || !good {
		return ellipsoid{}, fmt.Errorf("strength: σ %v, grey %v", h.Sigma, sd)
	}
	ratio := sigma.Quo(sigma, t)
	return ellipsoid{ratio.Mul(ratio, ratio)}, nil
}

// distance is (255·N·σ)² for the best grey shift, with slack.
func (e ellipsoid) distance(image, changed []uint8) (square *big.Rat, shift int) {
	var sum, squares int64
	for i, v := range image {
		d := int64(changed[i]) - int64(v)
		sum, squares = sum+d, squares+d*d
	}
	square = new(big.Rat).SetInt64(squares)
	if e.cost != nil { // the square is squares − 2u·sum + (n + cost)·u²
		curve := new(big.Rat).SetInt64(int64(len(image)))
		curve.Add(curve, e.cost)
		best := new(big.Rat).Quo(new(big.Rat).SetInt64(sum), curve)
		best.Add(best, big.NewRat(1, 2))
		u := new(big.Int).Div(best.Num(), best.Denom()).Int64() // rounded to nearest
		square.Add(square, new(big.Rat).SetInt64(-2*u*sum))
		square.Add(square, curve.Mul(curve, new(big.Rat).SetInt64(u*u)))
		shift = int(u)
	}
	return square.Mul(square, slack), shift
}

// line proves an image from its claim.
func (e ellipsoid) line(orbits *corrupt.Orbits, one *imageset.Images, c ledger.Claim, label int) (Line, error) {
	l := Line{Image: c.Image, Label: label, Class: c.Class}
	radius, ok := new(big.Rat).SetString(c.Radius)
	if !ok || one.Offsets != nil {
		return l, fmt.Errorf("strength: image %d: a radius of %s, or values that are no bytes", c.Image, c.Radius)
	}
	radius.Mul(radius, big.NewRat(255, 1))
	radius.Mul(radius, radius)
	image, sum := one.Image(0), sha256.New()
	from, to, farthest := -1, -1, new(big.Rat)
	for i, changed := range orbits.Outward(image) {
		if l.Class < 0 {
			break
		}
		if changed != nil {
			square, shift := e.distance(image, changed)
			if square.Cmp(radius) >= 0 {
				l.Outside = orbits.Theta(i)
				break
			}
			if square.Cmp(farthest) > 0 {
				farthest, l.Shift = square, shift
			}
			sum.Write(changed)
			l.Asked++
		}
		if from < 0 {
			from = i
		}
		from, to = min(from, i), max(to, i)
	}
	if from >= 0 {
		l.From, l.To = orbits.Theta(from), orbits.Theta(to)
	}
	l.Digest = hex.EncodeToString(sum.Sum(nil))
	return l, nil
}
