package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// Evidence is the basis of a comparison of rules.
type Evidence struct {
	Votes  []Votes // by image
	Images int     // of the run to plan
	Rate   float64 // noise samples per second; 0: not known
}

// Pilot classifies one block of noise samples of each of a sample of images. The seed of the noise is derived from
// another text than that of any run. So a run never meets a sample that chose its settings.
func Pilot(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, opt Options) (*Evidence, error) {
	p, all, err := newPilot(ctx, model, data, opt.Run, opt.Images, time.Now)
	if err != nil {
		return nil, err
	}
	if err := p.noisy(ctx); err != nil {
		return nil, fmt.Errorf("preflight: noise samples: %w", err)
	}
	return &Evidence{Votes: p.probabilities(), Images: all.Len(), Rate: p.rate}, nil
}

// Past reads the evidence of an earlier run from its ledger, finished or not: of each image the class that the
// selection chose, and its hits in all later samples. The time is not known.
//
// What such a run is planned for must draw other noise: a bound does not hold on the samples that chose its n. The
// seed that is returned is derived from the earlier ledger, and is none that a run derives for itself.
func Past(path string) (e *Evidence, header ledger.Header, seed uint64, err error) {
	scan, err := ledgerio.Scan(path)
	if err != nil {
		return nil, ledger.Header{}, 0, err
	}
	defer scan.Close()
	header = scan.Header()
	if s := header.Shard; s != nil && s.By == ledger.ShardBlocks {
		return nil, header, 0, fmt.Errorf("preflight: ledger %s is a shard by blocks; merge it with the others first",
			path)
	}
	e = &Evidence{Images: header.Data.Images}
	hash := sha256.New()
	fmt.Fprintf(hash, "certspec plan\n%d\n", header.Seed)
	for looks, err := range scan.Images() {
		if err != nil {
			return nil, header, 0, err
		}
		class, votes := int32(classifier.Miss), 0
		for i, look := range looks {
			fmt.Fprintln(hash, look.Image, look.From, look.To, look.Misses, look.Counts)
			if i == 0 {
				for _, c := range look.Counts {
					if c.N > votes {
						class, votes = c.Class, c.N
					}
				}
				e.Votes = append(e.Votes, Votes{Wrong: look.Label >= 0 && int(class) != look.Label})
				continue
			}
			v := &e.Votes[len(e.Votes)-1]
			v.Samples += (look.To - look.From) * header.Block
			for _, c := range look.Counts {
				if c.Class == class {
					v.Hits += c.N
				}
			}
		}
	}
	for _, err := range scan.All() { // what is behind the looks is to hold, too
		if err != nil {
			return nil, header, 0, err
		}
	}
	if len(e.Votes) == 0 {
		return nil, header, 0, fmt.Errorf("preflight: ledger %s has no image yet", path)
	}
	return e, header, binary.BigEndian.Uint64(hash.Sum(nil)), nil
}

// Rules forecasts a run under each rule. A rule's own settings (Tolerance, Radii and the like) go to the rules that
// have them; without Radii, betting tests the multiples of 0.25 that it can certify, at most ten. A rule that cannot
// certify what is asked for is left out, and said why.
func (e *Evidence) Rules(run rs.Options) (plans []Plan, omitted []string, err error) {
	for _, name := range []rs.Rule{rs.Fixed, rs.Staged, rs.ISS, rs.Betting} {
		o := run
		o.Rule = name
		if name != rs.Staged && name != rs.ISS || name == rs.Staged && run.Relative {
			o.Tolerance = 0
		}
		if name != rs.ISS {
			o.Relative = false
		}
		if name != rs.Betting {
			o.Radii, o.Futility = nil, 0
		} else if len(o.Radii) == 0 {
			o.Radii = reachable(o)
		}
		plan, err := forecast(e.Votes, o, e.Images, e.Rate)
		var option *rule.OptionError
		if errors.As(err, &option) && (name == rs.ISS || name == rs.Betting) {
			omitted = append(omitted, fmt.Sprintf("%s: %s", name, option.Reason))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		plans = append(plans, plan)
	}
	return plans, omitted, nil
}

// reachable are the first multiples of 0.25 that betting can certify.
func reachable(o rs.Options) (radii []float64) {
	for i := 1; i <= 10; i++ {
		o.Radii = append(radii[:len(radii):len(radii)], float64(i)/4)
		if _, err := o.Plan(); err != nil {
			break
		}
		radii = o.Radii
	}
	return radii
}
