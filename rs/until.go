package rs

import (
	"math"
	"time"

	"github.com/certspec/certspec/rs/ledger"
)

// Until says when a call of Certify under the rule Anytime ends: at the first of the limits that are set. It is no part
// of the run: a ledger goes on under any other.
type Until struct {
	Samples int           // noise samples in all, those of earlier calls and of the selection included
	Time    time.Duration // of this call
	Radius  float64       // mean certified radius, as Rows.ACR has it; of images without labels, the mean over all
	// share of the images that are decided at the radius At: certified at it, or shown to fall
	// short of it
	Share float64
	At    float64
}

// checkUntil refuses an end that is out of range, or is missing or has no effect, as *rule.OptionError.
func (o Options) checkUntil() error {
	u := o.Until
	if o.Rule != Anytime {
		if u != (Until{}) {
			return optionErrorf("Until is set, but the rule %q has an end of its own; it is for %q", o.Rule, Anytime)
		}
		return nil
	}
	switch {
	case u == (Until{}):
		return optionErrorf("Until: nothing is set, but the rule %q has no end of its own: name a number of noise "+
			"samples, a time, a mean radius or a share of decided images", Anytime)
	case u.Samples < 0:
		return optionErrorf("Until: the number of noise samples is %d, want at least 1", u.Samples)
	case u.Time < 0:
		return optionErrorf("Until: the time is %v, want a positive time", u.Time)
	case !(u.Radius >= 0) || math.IsInf(u.Radius, 0):
		return optionErrorf("Until: the radius is %v, want a positive radius", u.Radius)
	case !(u.Share >= 0 && u.Share <= 1):
		return optionErrorf("Until: the share is %v, want a share between 0 and 1", u.Share)
	case !(u.At >= 0) || math.IsInf(u.At, 0):
		return optionErrorf("Until: the radius to decide at is %v, want a radius of at least 0", u.At)
	case u.At > 0 && u.Share == 0:
		return optionErrorf("Until: the radius to decide at is %v, but no share of images is to be decided there", u.At)
	}
	return nil
}

// spreads is the number of shards that spread their samples alone.
func (o Options) spreads() int {
	if o.Rule == Anytime && o.Shard.By != ledger.ShardBlocks {
		return o.Shard.Count
	}
	return 0
}
