package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/rs/bound"
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
	Seed       uint64          `json:"seed,string"` // of noise and order; follows from the content that is compared
	Groups     *Groups         `json:"groups,omitempty"`
}

const (
	format  = "certspec-gate"
	version = 2
	grouped = 3 // version of a record with groups
)

// seed is the one that follows from the other fields. In version 1 that was all of them; since then names and engines
// are left out, as who renames a file or a group must not draw other noise and another order.
func (h Header) seed() (uint64, error) {
	h.Seed = 0
	if h.Version > 1 {
		h.Data, h.Old, h.New = "", content(h.Old), content(h.New)
	}
	if h.Groups != nil {
		h.Groups = &Groups{Of: h.Groups.Of}
	}
	text, err := json.Marshal(h)
	digest := sha256.Sum256(text)
	return binary.BigEndian.Uint64(digest[:8]) | 1, err
}

// content is a network without its name and without what runs it.
func content(info classifier.Info) classifier.Info {
	info.Name, info.Identity = "", classifier.Identity{Weights: info.Identity.Weights}
	return info
}

// same reports whether a record is of this gate, whatever the names of its networks and data were.
func (h Header) same(record Header) bool {
	for _, x := range []*Header{&h, &record} {
		x.Version, x.Seed, x.Data, x.Old.Name, x.New.Name, x.Old.Logits, x.New.Logits = 0, 0, "", "", "", false, false
	}
	return reflect.DeepEqual(h, record)
}

// openRecord begins a record, or reads the outcomes of one of the same gate, whose header, seed and names stay. A line
// that was cut is left out.
func openRecord(path string, h *Header, x *imageset.Index, places []int) (*os.File, []pair, error) {
	if path == "" {
		return nil, nil, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	fail := func(err error) (*os.File, []pair, error) {
		file.Close()
		return nil, nil, fmt.Errorf("record %s: %w", path, err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fail(err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	var pairs []pair
	if len(data) == 0 {
		header, err := json.Marshal(h)
		if err != nil {
			return fail(err)
		}
		data = append(header, '\n')
		if _, err := file.WriteAt(data, 0); err != nil {
			return fail(err)
		}
	} else if pairs, err = h.resume(data, x, places); err != nil {
		return fail(err)
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return fail(err)
	}
	if _, err := file.Seek(int64(len(data)), io.SeekStart); err != nil {
		return fail(err)
	}
	return file, pairs, nil
}

// resume takes the header of a record of the same gate, and reads its outcomes, which must be possible ones.
func (h *Header) resume(data []byte, x *imageset.Index, places []int) ([]pair, error) {
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var was Header
	if err := json.Unmarshal([]byte(lines[0]), &was); err != nil || was.Format != format {
		return nil, errors.New("it is no record of a gate; name another file")
	}
	if was.Version < 1 || was.Version > grouped || (was.Version == grouped) != (was.Groups != nil) {
		return nil, fmt.Errorf("version %d; this program reads 1 to %d, the last with groups", was.Version, grouped)
	}
	text, err := json.Marshal(was)
	if seed, e := was.seed(); err != nil || e != nil || string(text) != lines[0] || seed != was.Seed {
		return nil, errors.New("its first line was altered: the seed does not follow from the other fields")
	}
	if !reflect.DeepEqual(h.Groups, was.Groups) {
		return nil, errors.New("it is of other groups, or of other images in them; name another file")
	}
	if !h.same(was) {
		return nil, errors.New("it is of another gate: its first line differs; name another file")
	}
	was.Old.Logits, was.New.Logits = h.Old.Logits, h.New.Logits
	*h = was
	at, err := bound.Threshold(h.Radius, h.Sigma)
	if err != nil {
		return nil, err
	}
	wins, err := bound.NewBetting(at, h.Alpha)
	if err != nil {
		return nil, err
	}
	w, err := h.walk()
	if err != nil {
		return nil, err
	}
	pairs := make([]pair, 0, len(lines)-1)
	if len(lines)-1 > len(w.order) {
		return nil, fmt.Errorf("it has outcomes of %d images; the set has %d", len(lines)-1, len(w.order))
	}
	for i, line := range lines[1:] {
		var p pair
		next := w.order[i : i+1]
		if h.Groups != nil {
			next = w.next(1)
		}
		n, err := fmt.Sscan(line, &p.place, &p.label, &p.old[0], &p.old[1], &p.old[2], &p.new[0], &p.new[1], &p.new[2])
		switch {
		case err != nil || n != 8 || p.String() != line:
			err = errors.New("expected place, label, and class, hits and samples of both networks")
		case len(next) == 0 || h.Groups != nil && w.verdict() != Undecided:
			err = errors.New("the verdict is known before it")
		case p.place != next[0]:
			err = fmt.Errorf("the image at place %d; at place %d is the next in the order of the seed", p.place, next[0])
		case p.label != x.Labels[places[p.place]]:
			err = fmt.Errorf("the label %d; the data have %d", p.label, x.Labels[places[p.place]])
		default:
			err = errors.Join(h.possible(p.old, wins), h.possible(p.new, wins))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is no outcome of this gate: %w", i+2, err)
		}
		w.take(p)
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// possible refuses class, hits and noise samples of a network that no run gives.
func (h *Header) possible(by [3]int, wins *bound.Betting) error {
	class, hits, samples := by[0], by[1], by[2]
	if samples < 0 || samples > h.MaxSamples || samples%max(h.Block, 1) != 0 || hits < 0 || hits > samples {
		return fmt.Errorf("%d hits of %d noise samples; expected whole blocks of %d, and at most %d", hits, samples,
			h.Block, h.MaxSamples)
	}
	if class < -1 || class >= h.Old.Classes || (class >= 0) != (samples > 0 && hits >= wins.LeastHits(samples)) {
		return fmt.Errorf("class %d of %d with %d hits of %d noise samples, which do not say so", class, h.Old.Classes,
			hits, samples)
	}
	return nil
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

// difference is 1 where the new network lost the image.
func (p pair) difference() int { return p.certified(p.old) - p.certified(p.new) }

// certified is 1 where a network is certified as the label. A class is named only where the radius is certified.
func (p pair) certified(by [3]int) int {
	if by[0] == p.label {
		return 1
	}
	return 0
}
