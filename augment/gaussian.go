package augment

import (
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	defaultSigma = 0.1
	defaultShare = 0.5
)

// gaussian adds independent normal noise of deviation Sigma to a share of the images, and clips
// these to [0, 1]: Gaussian augmentation as in Kireev, Andriushchenko and Flammarion 2021 (arXiv
// 2103.02325, half of the images) with the deviation of Diffenderfer et al. 2021. The noise of
// certification is not clipped; training draws it by its σ.
type gaussian struct {
	Sigma float64 // deviation, 1 = full range; 0 means 0.1
	Share float64 // probability of noise, to 1; 0 means 0.5
}

func (g gaussian) Apply(im Image, random *Stream) error {
	if err := im.check("gaussian"); err != nil {
		return err
	}
	if err := g.check(); err != nil {
		return err
	}
	if random.Float64() >= orDefault(g.Share, defaultShare) {
		return nil
	}
	sigma, normal := orDefault(g.Sigma, defaultSigma), rand.New(random)
	for i, v := range im.Values {
		im.Values[i] = float32(min(max(float64(v)+float64(sigma*normal.NormFloat64()), 0), 1))
	}
	return nil
}

func (g gaussian) check() error {
	switch {
	case !(g.Sigma >= 0) || math.IsInf(g.Sigma, 0):
		return &OptionError{"gaussian", fmt.Sprintf("sigma is %v", g.Sigma), "a finite deviation above 0"}
	case !(g.Share >= 0 && g.Share <= 1):
		return &OptionError{"gaussian", fmt.Sprintf("share is %v", g.Share), "a probability above 0, to 1"}
	}
	return nil
}

func (g gaussian) String() string { return describe("gaussian", g.fields(), (&gaussian{}).fields()) }

func (g *gaussian) fields() []field {
	return []field{
		decimal("sigma", "deviation of the noise, 1 = full range", &g.Sigma, defaultSigma),
		decimal("share", "probability that an image gets noise", &g.Share, defaultShare),
	}
}

func (g *gaussian) value() Augmentation { return *g }
