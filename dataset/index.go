package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// Bytes of pixels: sets of at most small are loaded whole; of larger ones chunk is decoded at once on the way to the
// digest, and kept stays of what was read last.
var (
	small = 8 << 20
	chunk = 32 << 20
	kept  = 32 << 20
)

// Index gives the images of a set whose pixels are read one by one. Small sets are loaded. Of folders, archives and
// arrays only the pictures that are asked for are in memory, at most 32 MB of them beside those in use. A compressed
// archive is unpacked once, into the cache.
//
// The digest is that of Load: all pictures are decoded once, in pieces, with progress. It is remembered in the cache
// with the size, time and digest of each picture. Where these files have not changed, the next Index, also one on
// another machine with the same cache, decodes nothing. A picture that is read later and has changed since is an error.
// So is one that this program changes otherwise than the program that computed the digest.
func (d *Dataset) Index(ctx context.Context, report progress.Reporter) (*imageset.Index, error) {
	return d.index.get(ctx, func(ctx context.Context) (*imageset.Index, error) {
		x, err := d.newIndex(ctx, report)
		if err == nil {
			x.Source = d
		}
		return x, err
	})
}

func (d *Dataset) newIndex(ctx context.Context, report progress.Reporter) (*imageset.Index, error) {
	im, err := d.List(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.base.records.get(ctx, d.base.read)
	if err != nil {
		return nil, err
	}
	if all.stamp == nil || all.all.Load() != nil {
		return d.loaded(ctx)
	}
	first, err := all.decode(ctx, im.IDs[:1])
	if err != nil {
		return nil, err
	}
	x := &indexer{set: d, all: all, list: im, shape: first.shape}
	x.recall()
	known, err := x.fresh(ctx)
	if err != nil {
		return nil, err
	}
	if known.Digest != "" {
		return x.index(known), nil
	}
	x.sums = nil
	if int64(im.Len())*int64(first.shape.Len()) <= int64(small) {
		return d.loaded(ctx)
	}
	if known, err = x.pass(ctx, report); err != nil {
		return nil, err
	}
	if err := x.remember(); err != nil {
		report.Say("warning: the digest of %s is not remembered: %v", d, err)
	}
	return x.index(known), nil
}

func (d *Dataset) loaded(ctx context.Context) (*imageset.Index, error) {
	im, err := d.Load(ctx)
	if err != nil {
		return nil, err
	}
	return im.Indexed(), nil
}

// indexer finds the digest of a set of pictures, and reads one of them.
type indexer struct {
	set   *Dataset
	all   *records
	list  *Images
	shape pixel.Shape
	known *known
	sums  []byte // of changed images, sumSize bytes each; nil: not known

	mu   sync.Mutex
	last []*Images // read last, newest first
}

// known is the cache's entry of a set. Stamps and Pixels have a place for each image of the base set.
type known struct {
	Set     string            `json:"set"`
	Subsets map[string]subset `json:"subsets"`
	Stamps  []byte            `json:"stamps"` // of its file, 16 bytes: size, and time in nanoseconds; of one file, once
	Pixels  []byte            `json:"pixels"` // the beginning of the SHA-256 of its prepared pixels, pixelsSize bytes
}

// subset holds the known facts about some pictures in their versions of then.
type subset struct {
	Digest   string `json:"digest"`   // "": not known
	Versions string `json:"versions"` // SHA-256 of them
	JPEGs    bool   `json:"jpegs"`
	Warning  string `json:"warning,omitempty"`
}

const (
	stampSize  = 16
	pixelsSize = 16
)

// blank knows nothing of a set.
func (x *indexer) blank() *known {
	n := len(x.all.labels)
	k := &known{Subsets: map[string]subset{}, Stamps: make([]byte, stampSize*n), Pixels: make([]byte, pixelsSize*n)}
	if x.all.oneFile {
		k.Stamps = k.Stamps[:stampSize]
	}
	return k
}

// stamp is the place of an image's file in Stamps.
func (x *indexer) stamp(id int) []byte {
	if x.all.oneFile {
		id = 0
	}
	return x.known.Stamps[stampSize*id:][:stampSize]
}

// pixels is the place of an image in Pixels.
func (x *indexer) pixels(id int) []byte { return x.known.Pixels[pixelsSize*id:][:pixelsSize] }

func stampOfFile(info fs.FileInfo) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(info.Size()))
	return binary.LittleEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
}

// forgotten is how long a file must have rested before what is known of it is believed: times of files are coarse.
const forgotten = 2 * time.Second

// name under which the cache keeps the digest of a subset: its images, labels and changes.
func (x *indexer) name() string {
	h := sha256.New()
	fmt.Fprintln(h, x.set, x.list.IDs, x.list.Labels)
	return hex.EncodeToString(h.Sum(nil))
}

// sumSize is how much of the SHA-256 of a changed image is remembered. It finds accidents.
const sumSize = 8

// changedSet is the cache's entry of changed images, in a file of its own.
type changedSet struct {
	Set    string `json:"set"`
	Subset subset `json:"subset"`
	Images []byte `json:"images"` // the beginning of the SHA-256 of each
}

func changedSum(one *Images) []byte {
	h := sha256.New()
	h.Write(one.Pixels)
	binary.Write(h, binary.LittleEndian, one.Offsets)
	binary.Write(h, binary.LittleEndian, one.Residues)
	return h.Sum(nil)[:sumSize]
}

// changedFile is where the cache remembers the changed images.
func (x *indexer) changedFile() (path, set string, err error) {
	path, set, err = x.file()
	return strings.TrimSuffix(path, ".json") + "-" + x.name()[:32] + ".json", set, err
}

// file is where the cache remembers the set.
func (x *indexer) file() (path, set string, err error) {
	first, _, err := x.all.stamp(0)
	if err != nil {
		return "", "", err
	}
	dir, err := cache.Dir("pictures")
	if err != nil {
		return "", "", err
	}
	set = newDataset(x.set.base, nil, nil).String() + " at " + first + x.all.listing
	sum := sha256.Sum256([]byte(set))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json"), set, nil
}

// recall reads what is known. What cannot be read is not known.
func (x *indexer) recall() {
	x.known = x.blank()
	path, set, err := x.file()
	if err != nil {
		return
	}
	text, err := textfile.Read(path)
	if err != nil {
		return
	}
	var k known
	if json.Unmarshal(text, &k) == nil && k.Set == set && k.Subsets != nil &&
		len(k.Stamps) == len(x.known.Stamps) && len(k.Pixels) == len(x.known.Pixels) {
		x.known = &k
	}
	if len(x.set.changes) == 0 {
		return
	}
	var c changedSet
	if path, _, err = x.changedFile(); err != nil {
		return
	}
	if text, err = textfile.Read(path); err != nil {
		return
	}
	if json.Unmarshal(text, &c) == nil && c.Set == set && len(c.Images) == sumSize*x.list.Len() {
		x.known.Subsets[x.name()], x.sums = c.Subset, c.Images
	}
}

// remember writes what is known.
func (x *indexer) remember() error {
	path, set, err := x.file()
	if err != nil {
		return err
	}
	x.known.Set = set
	if len(x.set.changes) > 0 {
		text, err := json.Marshal(changedSet{set, x.known.Subsets[x.name()], x.sums})
		if err != nil {
			return err
		}
		if path, _, err := x.changedFile(); err != nil {
			return err
		} else if err := atomicfile.Write(path, text); err != nil {
			return err
		}
		delete(x.known.Subsets, x.name())
	}
	text, err := json.Marshal(x.known)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, text)
}

// fresh returns the known facts, where no file of the set has changed since, and its first image is changed as
// then; else without a digest.
func (x *indexer) fresh(ctx context.Context) (subset, error) {
	of := x.known.Subsets[x.name()]
	if of.Digest == "" {
		return subset{}, nil
	}
	versions := sha256.New()
	for i, id := range x.list.IDs {
		if err := ctx.Err(); err != nil {
			return subset{}, err
		}
		if versions.Write(x.pixels(id)); i > 0 && x.all.oneFile {
			continue
		}
		_, info, err := x.all.stamp(id)
		if err != nil {
			return subset{}, fmt.Errorf("dataset: %w", err)
		}
		if !bytes.Equal(x.stamp(id), stampOfFile(info)) {
			return subset{}, nil
		}
	}
	if hex.EncodeToString(versions.Sum(nil)) != of.Versions { // another subset met a later version of a picture
		return subset{}, nil
	}
	if x.sums != nil {
		_, err := x.read(ctx, 0)
		if other := new(changedOtherwise); errors.As(err, &other) {
			return subset{}, nil
		}
		return of, err
	}
	return of, nil
}

// changedOtherwise says that another program changed an image otherwise.
type changedOtherwise struct{ set, picture string }

func (e *changedOtherwise) Error() string {
	return fmt.Sprintf("dataset: %s: this program changes %s otherwise than the one that computed the digest of the "+
		"set; start again, with a new ledger", e.set, e.picture)
}

// some are the images of ids before any change.
func (x *indexer) some(ctx context.Context, ids []int) (*block, error) {
	b, err := x.all.decode(ctx, ids)
	if err == nil && b.shape != x.shape {
		err = fmt.Errorf("dataset: %s: image %d is of %v; expected %v as image %d", x.set, ids[0], b.shape, x.shape,
			x.list.IDs[0])
	}
	return b, err
}

// pass decodes all pictures once, for the digest of the set and that of each picture.
func (x *indexer) pass(ctx context.Context, report progress.Reporter) (of subset, err error) {
	im, began := *x.list, time.Now()
	im.Shape = x.shape
	size, damaged := x.shape.Len(), &block{}
	each := max(1, chunk/size)
	versions := sha256.New()
	if _, info, err := x.all.stamp(im.IDs[0]); x.all.oneFile && err == nil &&
		!bytes.Equal(x.stamp(0), stampOfFile(info)) {
		x.known = x.blank() // what is known is of another version of the file
	}
	pixels := func(yield func(part *Images) error) error {
		for from := 0; from < len(im.IDs); from += each {
			to := min(from+each, len(im.IDs))
			b, err := x.some(ctx, im.IDs[from:to])
			if err != nil {
				return err
			}
			damaged.notes = append(damaged.notes, b.notes...)
			of.JPEGs = of.JPEGs || b.jpegs
			for i, id := range im.IDs[from:to] {
				_, info, err := x.all.stamp(id)
				if err != nil {
					return fmt.Errorf("dataset: %w", err)
				}
				if copy(x.stamp(id), stampOfFile(info)); began.Sub(info.ModTime()) < forgotten {
					clear(x.stamp(id))
				}
				sum := sha256.Sum256(b.pixels[i*size : (i+1)*size])
				copy(x.pixels(id), sum[:])
				versions.Write(x.pixels(id))
			}
			part := &Images{Shape: x.shape, IDs: im.IDs[from:to], Labels: im.Labels[from:to], Pixels: b.pixels}
			if err := x.set.change(ctx, part); err != nil {
				return err
			}
			for i := range part.IDs {
				if len(x.set.changes) > 0 {
					x.sums = append(x.sums, changedSum(part.Take([]int{i}))...)
				}
			}
			if err := yield(part); err != nil {
				return err
			}
			if report != nil {
				rate := float64(to) / time.Since(began).Seconds()
				report(progress.State{Task: "digest of " + x.set.String(), Done: float64(to),
					Total: float64(len(im.IDs)), Unit: "images", Rate: rate,
					Left:  time.Duration(float64(len(im.IDs)-to) / rate * float64(time.Second)),
					Final: to == len(im.IDs)})
			}
		}
		return nil
	}
	if of.Digest, err = im.DigestOf(pixels); err != nil {
		return subset{}, err
	}
	of.Warning = damaged.warning()
	of.Versions = hex.EncodeToString(versions.Sum(nil))
	x.known.Subsets[x.name()] = of
	return of, nil
}

// index is the set whose digest is known.
func (x *indexer) index(of subset) *imageset.Index {
	out := &imageset.Index{Images: *x.list, Read: x.read}
	out.Shape, out.Digest = x.shape, of.Digest
	if of.JPEGs {
		out.Name = x.set.String()
	}
	if of.Warning != "" {
		out.Warnings = append(out.Warnings, of.Warning)
	}
	out.OffGrid = slices.ContainsFunc(x.set.changes, func(c Change) bool { return c.Residue != nil })
	return out
}

// read is one image. A picture that is another one than when the digest was computed is an error.
func (x *indexer) read(ctx context.Context, i int) (*Images, error) {
	id := x.list.IDs[i]
	x.mu.Lock()
	at := slices.IndexFunc(x.last, func(one *Images) bool { return one.IDs[0] == id })
	if at >= 0 {
		one := x.last[at]
		copy(x.last[1:at+1], x.last[:at])
		x.last[0] = one
		x.mu.Unlock()
		return one, nil
	}
	x.mu.Unlock()
	b, err := x.some(ctx, []int{id})
	if err != nil {
		return nil, err
	}
	path, _, err := x.all.stamp(id)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	if sum := sha256.Sum256(b.pixels); !bytes.Equal(sum[:pixelsSize], x.pixels(id)) {
		return nil, fmt.Errorf("dataset: %s: image %d (%s) has changed since the digest of the set was computed; "+
			"start again, with a new ledger", x.set, id, path)
	}
	one := &Images{Name: x.list.Name, Shape: x.shape, IDs: []int{id}, Labels: x.list.Labels[i : i+1], Pixels: b.pixels}
	if err := x.set.change(ctx, one); err != nil {
		return nil, err
	}
	if x.sums != nil && !bytes.Equal(changedSum(one), x.sums[sumSize*i:sumSize*(i+1)]) {
		if path, _, err := x.changedFile(); err == nil {
			os.Remove(path)
		}
		return nil, &changedOtherwise{x.set.String(), path}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.last = slices.Insert(x.last, 0, one)
	if most := max(1, kept/x.shape.Len()); len(x.last) > most {
		x.last = x.last[:most]
	}
	return one, nil
}
