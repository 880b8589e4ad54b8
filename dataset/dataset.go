// Package dataset reads labelled images: MNIST, FashionMNIST, CIFAR-10/100,
// CIFAR-C style arrays, folders and archives of pictures, and a built-in synthetic set.
//
// A Dataset is a lazy handle that opens in microseconds; Load reads the pixels.
// Nothing is downloaded unless Fetch or OpenOrSynthetic is called.
package dataset

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/printable"
)

// Images is a loaded data set; package imageset has the type alone, for who needs no reader.
type Images = imageset.Images

// Dataset is a lazy handle on a named set and a subset of it. It is immutable and safe for concurrent use.
type Dataset struct {
	base       *base
	called     string // in the place of the base's name, where it is set
	selections []Selection
	changes    []Change
	listed     *lazy[Images]
	images     *lazy[Images]
	index      *lazy[imageset.Index]
}

// base is a whole set, before any subset; its subsets share what has been read.
type base struct {
	name        string
	license     string
	origin      func() (string, error)
	read        func(context.Context) (*records, error)
	records     *lazy[records]
	preparation Preparation
	plain       *base // the same without preparation; nil where there is none
}

type records struct {
	classes  []string
	folders  map[string]int
	labels   []int
	warnings []string

	block
	// of pictures in a folder and drawn images; else nil, and block holds all images
	decode func(ctx context.Context, ids []int) (*block, error)
	all    atomic.Pointer[block] // where all pictures were decoded

	// stamp is the file that an image is read from, where decode reads single images fast; else nil.
	stamp   func(id int) (path string, info fs.FileInfo, err error)
	oneFile bool   // all are from one file
	listing string // of pictures in a folder or archive: a digest of their names
}

// images are the images of some ids, ascending.
func (r *records) images(ctx context.Context, ids []int) (*block, error) {
	whole := &r.block
	if r.decode != nil {
		whole = r.all.Load()
	}
	switch {
	case whole == nil:
		b, err := r.decode(ctx, ids)
		if err == nil && len(ids) == len(r.labels) {
			r.all.Store(b)
		}
		return b, err
	case len(ids) == len(r.labels):
		return whole, nil
	}
	return whole.part(ids), nil
}

func newDataset(b *base, selections []Selection, changes []Change) *Dataset {
	return &Dataset{base: b, selections: selections, changes: changes, listed: newLazy[Images](),
		images: newLazy[Images](), index: newLazy[imageset.Index]()}
}

// String is the canonical name with preparation and subset, e.g. "fashionmnist/test[skip=20]"
// or "folder:pictures[jpeg=libjpeg-turbo,resize=256,filter=bilinear,crop=224,count=100]". Images.Name does without the
// decoder of JPEG pictures where there are none.
func (d *Dataset) String() string { return d.name(true) }

func (d *Dataset) name(jpegs bool) string {
	p := d.base.preparation
	if !jpegs {
		p.JPEG = ""
	}
	parts := p.parts()
	for _, s := range d.selections {
		parts = append(parts, s.text)
	}
	for _, c := range d.changes {
		parts = append(parts, c.Name)
	}
	name := cmp.Or(d.called, d.base.name)
	if len(parts) == 0 {
		return name
	}
	return name + "[" + strings.Join(parts, ",") + "]"
}

// Named is the same images under another name than their files', as tables and figures for
// others want it. What prepares and selects the images stays in brackets behind it.
//
// Errors: a name that is empty or holds a bracket or a control character.
func (d *Dataset) Named(name string) (*Dataset, error) {
	if name == "" || strings.ContainsAny(name, "[]") || name != printable.Line(name) {
		return nil, fmt.Errorf("dataset: the name %q; expected some letters, without brackets", name)
	}
	named := d.derive(d.base, d.selections, d.changes)
	named.called = name
	return named, nil
}

// derive is a handle like this one on other images.
func (d *Dataset) derive(b *base, selections []Selection, changes []Change) *Dataset {
	of := newDataset(b, selections, changes)
	of.called = d.called
	return of
}

// Origin says in a sentence where the images come from: licence or source, and the files
// they are read from. Files of a known set that are not on this machine are a *MissingError.
func (d *Dataset) Origin() (string, error) { return d.base.origin() }

// Subset is the handle on the images that all selections keep, applied from left to right.
// A selection that cannot be met is an error of Load.
func (d *Dataset) Subset(selections ...Selection) *Dataset {
	return d.derive(d.base, slices.Concat(d.selections, selections), d.changes)
}

// Load reads the images, and decodes those of the subset; the result is cached and shared, so treat it as read-only.
// A data set that is not on this machine is a *MissingError. After an error or
// a cancelled context, the next Load tries again.
func (d *Dataset) Load(ctx context.Context) (*Images, error) {
	return d.images.get(ctx, d.load)
}

func (d *Dataset) load(ctx context.Context) (*Images, error) {
	im, err := d.List(ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.base.records.get(ctx, d.base.read)
	if err != nil {
		return nil, err
	}
	b, err := all.images(ctx, im.IDs)
	if err != nil {
		return nil, err
	}
	im.Shape, im.Pixels = b.shape, b.pixels
	if b.jpegs {
		im.Name = d.String()
	}
	if warning := b.warning(); warning != "" {
		im.Warnings = append(im.Warnings, warning)
	}
	if err := d.change(ctx, im); err != nil {
		return nil, err
	}
	im.Digest = im.ContentDigest()
	return im, ctx.Err()
}

// List is Load without Shape, Pixels and Digest: it decodes no picture of a folder.
func (d *Dataset) List(ctx context.Context) (*Images, error) {
	im, err := d.listed.get(ctx, d.list)
	if err != nil {
		return nil, err
	}
	some := *im
	some.Warnings = slices.Clone(im.Warnings)
	return &some, nil
}

func (d *Dataset) list(ctx context.Context) (*Images, error) {
	all, err := d.base.records.get(ctx, d.base.read)
	if err != nil {
		return nil, err
	}
	ids, labels, classes, folders := everything(len(all.labels)), all.labels, all.classes, all.folders
	for i, s := range d.selections {
		if s.only != nil {
			ids, labels, err = relabel(s.only, classes, ids, labels)
			classes, folders = s.only, nil
		} else {
			ids, err = s.apply(ids, labels)
		}
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", newDataset(d.base, d.selections[:i+1], nil), err)
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("dataset: %s: no image is left", newDataset(d.base, d.selections[:i+1], nil))
		}
	}
	im := &Images{
		Name:     d.name(all.jpegs),
		Classes:  classes,
		Folders:  folders,
		IDs:      ids,
		Labels:   labels,
		License:  d.base.license,
		Warnings: slices.Clone(all.warnings),
	}
	if len(ids) < len(labels) {
		im.Labels = make([]int, len(ids))
		for i, id := range ids {
			im.Labels[i] = labels[id]
		}
	}
	if warning := missingClasses(im); warning != "" {
		im.Warnings = append(im.Warnings, warning)
	}
	return im, nil
}

// everything is the ids of a set of n images.
func everything(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// missingClasses says which classes have no image, or nothing. A set without labels misses none.
func missingClasses(im *Images) string {
	var missing []string
	for class, n := range im.ClassCounts() {
		if n == 0 {
			missing = append(missing, im.Classes[class])
		}
	}
	if len(missing) == 0 || slices.Max(im.Labels) < 0 {
		return ""
	}
	shown := missing
	if len(shown) > 10 {
		shown = append(slices.Clone(missing[:10]), "…")
	}
	return fmt.Sprintf("%s: %d of %d classes have no image: %s",
		im.Name, len(missing), len(im.Classes), strings.Join(shown, ", "))
}

// check verifies what every reader promises; an error here names a damaged file, found late.
func (r *records) check() error {
	if !r.shape.Valid() {
		return fmt.Errorf("images of %v; expected at least one pixel", r.shape)
	}
	if len(r.labels) == 0 {
		return fmt.Errorf("no images")
	}
	if got, want := len(r.pixels), len(r.labels)*r.shape.Len(); got != want && r.decode == nil {
		return fmt.Errorf("%d bytes of pixels; expected %d for %d images of %v", got, want, len(r.labels), r.shape)
	}
	for i, label := range r.labels {
		if label < -1 || label >= len(r.classes) {
			return fmt.Errorf("image %d has label %d; expected 0 to %d", i, label, len(r.classes)-1)
		}
	}
	return nil
}
