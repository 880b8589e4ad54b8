package gate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// Header says what a gate compares, and how. It is the first line of a record.
type Header struct {
	Format     string          `json:"format"` // "certspec-gate"
	Version    int             `json:"version"`
	Old        classifier.Info `json:"old"`
	New        classifier.Info `json:"new"`
	Data       string          `json:"data"`
	Digest     string          `json:"digest"`
	Images     int             `json:"images"` // with a label
	Sigma      float64         `json:"sigma"`
	Noise      noise.Law       `json:"noise"`
	Radius     float64         `json:"radius"`
	Drop       float64         `json:"drop"`
	Level      float64         `json:"level"`
	Alpha      float64         `json:"alpha"`
	MaxSamples int             `json:"samples"`
	Selection  int             `json:"selection"`
	Block      int             `json:"block"`
	Seed       uint64          `json:"seed,string"` // of noise and order; follows from the other fields
}

// Options of a gate.
type Options struct {
	Header          // the fields from Sigma to Block are settings, the rest is filled in
	Most     int    // images that are looked at, at most; 0: all
	Record   string // file that keeps the outcomes, and from which the same gate goes on; empty: none
	Progress progress.Reporter
}

// Outcome is where a gate ended.
type Outcome struct {
	Header
	Verdict Verdict `json:"verdict"`
	Test    *Test   `json:"test"`
	Samples int     `json:"samples_used"` // noise samples of both networks in this call
}

// futility is the level at which an image is given up. It costs certificates of both networks alike, and no validity.
const futility = 0.05

// chunk is the number of images that both networks certify before the test takes them.
const chunk = 16

// Run certifies images in a random order under both networks until the verdict is known.
//
// Errors: networks of other shapes or classes, no labels, settings out of range, a record of another gate, and those
// of rs.Certify.
func Run(ctx context.Context, before, after classifier.Classifier, x *imageset.Index, o Options) (out Outcome,
	err error) {
	h := &o.Header
	h.Format, h.Version, h.Data, h.Digest = "certspec-gate", 1, x.Name, x.Digest
	if h.Old, err = before.Info(); err != nil {
		return out, err
	}
	if h.New, err = after.Info(); err != nil {
		return out, err
	}
	if h.Old.Shape != h.New.Shape || h.Old.Classes != h.New.Classes {
		return out, fmt.Errorf("the old network has %d classes of %v, the new one %d of %v: they cannot be compared",
			h.Old.Classes, h.Old.Shape, h.New.Classes, h.New.Shape)
	}
	var places []int
	for i, label := range x.Labels {
		if label >= 0 {
			places = append(places, i)
		}
	}
	h.Images, h.Seed = len(places), 0
	test, err := New(h.Images, h.Drop, h.Level)
	if err != nil {
		return out, err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return out, err
	}
	digest := sha256.Sum256(text)
	h.Seed = binary.BigEndian.Uint64(digest[:8]) | 1
	opt := rs.Options{Rule: rs.Betting, Sigma: h.Sigma, Alpha: h.Alpha, MaxSamples: h.MaxSamples,
		Selection: h.Selection, Block: h.Block, Radii: []float64{h.Radius}, Futility: futility,
		OnlyCorrect: true, Noise: h.Noise, Seed: h.Seed}
	file, pairs, err := openRecord(o.Record, *h)
	if err != nil {
		return out, err
	}
	if file != nil {
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	out = Outcome{Header: *h, Verdict: Undecided, Test: test}
	order := rand.New(rand.NewPCG(h.Seed, 1)).Perm(h.Images)
	most := h.Images
	if o.Most > 0 {
		most = min(most, o.Most)
	}
	for out.Verdict == Undecided && test.Seen < most {
		if test.Seen == len(pairs) {
			next := order[len(pairs):min(len(pairs)+chunk, most)]
			some := make([]int, len(next))
			for i, at := range next {
				some[i] = places[at]
			}
			more, samples, err := certify(ctx, before, after, x, some, opt)
			if err != nil {
				return out, err
			}
			for i := range more {
				more[i].place = next[i]
				if file == nil {
					continue
				}
				if _, err := fmt.Fprintln(file, more[i]); err != nil {
					return out, err
				}
			}
			pairs, out.Samples = append(pairs, more...), out.Samples+samples
		}
		p := pairs[test.Seen]
		if p.place != order[test.Seen] {
			return out, fmt.Errorf("record %s: image number %d is at place %d, want %d",
				o.Record, test.Seen, p.place, order[test.Seen])
		}
		out.Verdict = test.Add(p.difference())
		if o.Progress != nil {
			o.Progress(progress.State{Task: "gate " + x.Name, Done: float64(test.Seen), Total: float64(most),
				Unit: "images", Left: -1, Final: out.Verdict != Undecided || test.Seen == most})
		}
	}
	return out, err
}

// pair is one image under both networks: its place among the labelled images, its label, and classes, hits and
// samples.
type pair struct {
	place, label int
	old, new     [3]int
}

func (p pair) String() string {
	numbers := []int{p.place, p.label, p.old[0], p.old[1], p.old[2], p.new[0], p.new[1], p.new[2]}
	return strings.Trim(fmt.Sprint(numbers), "[]")
}

// difference is 1 where the new network lost the image. A class is named only where the radius is certified.
func (p pair) difference() (d int) {
	if p.old[0] == p.label {
		d++
	}
	if p.new[0] == p.label {
		d--
	}
	return d
}

// certify certifies images under both networks with the same noise samples.
func certify(ctx context.Context, before, after classifier.Classifier, x *imageset.Index, places []int,
	opt rs.Options) ([]pair, int, error) {
	sorted := slices.Sorted(slices.Values(places))
	pairs, samples := make([]pair, len(places)), 0
	for which, model := range []classifier.Classifier{before, after} {
		info, err := model.Info()
		if err != nil {
			return nil, 0, err
		}
		opt.Workers = rs.DefaultWorkers(info.Identity)
		run, err := rs.Certify(ctx, model, part{x.Take(sorted)}, opt)
		if err != nil {
			return nil, 0, err
		}
		samples += run.Passes()
		for i, place := range places {
			at, _ := slices.BinarySearch(sorted, place)
			row := run.Rows[at]
			pairs[i].label = row.Label
			*[]*[3]int{&pairs[i].old, &pairs[i].new}[which] = [3]int{row.Class, row.K, row.N}
		}
	}
	return pairs, samples, nil
}

// part is some images as rs.Certify takes them.
type part struct{ x *imageset.Index }

func (p part) Index(context.Context, progress.Reporter) (*imageset.Index, error) { return p.x, nil }
func (p part) Load(ctx context.Context) (*imageset.Images, error) {
	places := make([]int, p.x.Len())
	for i := range places {
		places[i] = i
	}
	return p.x.Load(ctx, places)
}

// openRecord begins a record, or reads the outcomes of one of the same gate. A line that was cut is left out.
func openRecord(path string, h Header) (*os.File, []pair, error) {
	if path == "" {
		return nil, nil, nil
	}
	header, err := json.Marshal(h)
	if err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	fail := func(format string, args ...any) (*os.File, []pair, error) {
		file.Close()
		return nil, nil, fmt.Errorf("record %s: "+format, append([]any{path}, args...)...)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fail("%w", err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	var pairs []pair
	if len(data) == 0 {
		data = append(header, '\n')
		if _, err := file.WriteAt(data, 0); err != nil {
			return fail("%w", err)
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if !bytes.Equal(lines[0], header) {
		return fail("it is of another gate: its first line differs; name another file")
	}
	for i, line := range lines[1:] {
		var p pair
		n, err := fmt.Sscan(string(line), &p.place, &p.label,
			&p.old[0], &p.old[1], &p.old[2], &p.new[0], &p.new[1], &p.new[2])
		if err != nil || n != 8 || p.String() != string(line) {
			return fail("line %d is no outcome: place, label, and class, hits and samples of both networks", i+2)
		}
		pairs = append(pairs, p)
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return fail("%w", err)
	}
	if _, err := file.Seek(int64(len(data)), io.SeekStart); err != nil {
		return fail("%w", err)
	}
	return file, pairs, nil
}
