package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// unused is a block of noise that no run draws, so that certifications are independent of the ranges, whatever
// their seed.
const unused = math.MaxUint64

// forImages is the grid of the noise, and the network by its layers, which must take images of a shape.
func (m *Model) forImages(ctx context.Context, s pixel.Shape, sigma float64) (*noise.Grid, *feedforward.Network,
	error) {
	grid, err := noise.NewGrid(sigma)
	if err != nil {
		return nil, nil, err
	}
	network, err := m.comparedIfPossible(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Equal(network.InputShape(), feedforward.Shape{s.Height, s.Width, s.Channels}) {
		return nil, nil, fmt.Errorf("engine: images of %v for a network that takes %v", s, network.InputShape())
	}
	return grid, network, nil
}

// Ranges are the images that gave the ranges of a quantised network; none of another.
func (m *Model) Ranges() (set ledger.Data, ok bool) {
	if m.whole() {
		n, err := m.load()
		if err != nil {
			return set, false
		}
		r := n.(*integerNetwork).record
		return ledger.Data{Name: r.Data, Digest: r.DataDigest, Images: r.Images}, r.Images > 0
	}
	var r quantize.Record
	ok = m.property(quantize.Key, &r)
	return ledger.Data{Name: r.Data, Digest: r.DataDigest, Images: r.Images}, ok && r.Images > 0
}

// Quantize writes the network as an ONNX file that computes in integers of 8 bits (package quantize). The ranges of
// what goes between layers are those that one noise sample of each image takes, at σ on the grid, from noise that
// no certification draws. The file has the metadata of its source, so that it opens as the source did, and a record of
// how it was made.
//
// Errors: σ out of range; models that are no network of layers (FeedForward); images of another shape; those of
// quantize.Apply; those of writing; that of ctx.
func (m *Model) Quantize(ctx context.Context, images *imageset.Images, sigma float64, seed uint64,
	path string) error {
	grid, network, err := m.forImages(ctx, images.Shape, sigma)
	if err != nil {
		return err
	}
	graph, card, digest, err := m.graph()
	if err != nil {
		return err
	}
	ranges := map[string]quantize.Range{}
	sample, x := make([]int16, images.Shape.Len()), make([]float64, images.Shape.Len())
	for i := range images.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := grid.AddTo(sample, images.Grid(i), noise.Address{Seed: seed, Image: uint64(images.IDs[i]),
			Block: unused}, 0, nil); err != nil {
			return err
		}
		for k, v := range sample {
			x[k] = float64(v) / pixel.Steps
		}
		results, err := network.Results(x)
		if err != nil {
			return err
		}
		if err := quantize.Widen(ranges, results); err != nil {
			return err
		}
	}
	record, err := quantize.Apply(graph, ranges)
	if err != nil {
		return err
	}
	record.Source, record.Data, record.DataDigest, record.Images = digest, images.Name, images.ContentDigest(),
		images.Len()
	record.Sigma, record.Seed, record.Compared = sigma, seed, network.Compared()
	if err := record.Write(graph, export.CardKey, export.InputKey); err != nil {
		return err
	}
	text, err := json.Marshal(card)
	if err != nil {
		return err
	}
	graph.Metadata = append(graph.Metadata, onnxfile.Property{Key: export.InputKey, Value: string(text)})
	return atomicfile.Write(path, onnxfile.Encode(graph))
}
