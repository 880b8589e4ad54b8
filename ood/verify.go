package ood

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/ood/record"
)

// Verify computes the bounds of a measurement again, of some of its images spread evenly, or of all with sample 0, and
// returns how many. Read checks what a file says of itself. The bounds have the same bits on machines of one
// architecture. Elsewhere the library of linear algebra may round otherwise, and Verify allows for 1e-12. Of a file of
// attacks it computes the confidences of the images themselves. The file of points shows that a point is as confident
// as the file says.
//
// Errors: a network or images of another digest; the first image whose numbers are others.
func Verify(ctx context.Context, m *Measurement, n Network, data imageset.Source, sample int) (checked int,
	err error) {
	if got := n.Digest(); got != m.Header.Model.Network {
		return 0, fmt.Errorf("ood: the network is %s, %s is of %s", got, m.Path, m.Header.Model.Network)
	}
	if p := m.Header.Probe; p != nil {
		return 0, fmt.Errorf("ood: %s is of the frequency (%d, %d) of a map; make the map again in another folder, "+
			"and compare the files", m.Path, p.U, p.V)
	}
	images, err := imageset.Open(ctx, data, nil)
	if err != nil {
		return 0, err
	}
	if images.Digest != m.Header.Data.Digest {
		return 0, fmt.Errorf("ood: the images of %s have the digest %s, %s is of %s, %s", images.Name, images.Digest,
			m.Path, m.Header.Data.Name, m.Header.Data.Digest)
	}
	o := Options{Epsilon: m.Header.Epsilon}
	if b := m.Header.Bound; b != nil {
		o.Method, o.Arithmetic = b.Method, b.Arithmetic
	} else {
		o.Epsilon, o.Method, o.Arithmetic = 0, feedforward.IBP, feedforward.Rigorous
	}
	if sample < 1 || sample > len(m.Lines) {
		sample = len(m.Lines)
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k := range sample {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return again(ctx, n, images, m, m.Lines[k*len(m.Lines)/sample], o)
		})
	}
	return sample, group.Wait()
}

// again computes the line of an image again.
func again(ctx context.Context, n Network, images *imageset.Index, m *Measurement, want record.Line,
	o Options) error {
	i := images.Index(want.Image)
	if i < 0 {
		return fmt.Errorf("ood: image %d of %s is not in %s", want.Image, m.Path, images.Name)
	}
	got, err := boundAt(ctx, n, images, i, o)
	if err != nil {
		return err
	}
	same := got.Label == want.Label && got.Class == want.Class && near(got.Log, want.Log)
	if m.Header.Bound != nil {
		same = same && near(got.Upper, want.Upper) && near(got.Lower, want.Lower)
	}
	if !same {
		return fmt.Errorf("ood: image %d of %s: label %d, class %d, ln Conf %v, bounds %v and %v; computed again, "+
			"%d, %d, %v, %v and %v", want.Image, m.Path,
			want.Label, want.Class, want.Log, want.Lower, want.Upper, got.Label, got.Class, got.Log, got.Lower,
			got.Upper)
	}
	return nil
}

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}
