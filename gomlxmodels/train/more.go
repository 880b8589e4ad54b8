package train

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/choice"
	"github.com/certspec/certspec/pixel"
)

// further is a set of images besides those that a run trains on.
type further struct {
	name    string
	images  *pictureSet
	batch   int
	augment modelfile.Augmentation
	views   augment.Augmentation // nil for none
	sigma   float64
	pass    int   // that order is of
	order   []int // nil: not drawn yet
}

// member is an image of a further set, in one of its passes.
type member struct{ pass, image int }

type moreImages struct {
	images []float32
	labels []int32
}

// loadMore opens the sets that the method takes, and checks that there are no others.
func (p *plan) loadMore(ctx context.Context) error {
	var names []string
	for k, need := range p.needs.Sets {
		names = append(names, need.Name)
		set, ok := p.options.More[need.Name]
		if !ok || set.Data == nil {
			return fmt.Errorf("train: the method %s takes further images, the set %q, which is not there; "+
				"certspec train --data %s=DATA gives it", p.method.Name(), need.Name, need.Name)
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("train: the set %s: "+format, append([]any{need.Name}, args...)...)
		}
		images, err := openPictures(ctx, set.Data, p.options.Progress)
		if err != nil {
			return err
		}
		f := further{
			name: need.Name, images: images, sigma: set.Sigma, augment: orDefault(set.Augment, noneAug),
			batch: orDefault(set.Batch, p.run.Recipe.BatchSize),
		}
		if set.Views != "" {
			if f.views, err = augment.Parse(set.Views); err != nil {
				return bad("%w", err)
			}
		}
		have, want := images.Shape, p.images.Shape
		switch {
		case k >= 1<<8:
			return bad("a method has at most %d", 1<<8)
		case have.Channels != want.Channels || have != want && (have.Height < want.Height || have.Width < want.Width ||
			!framingOf(f.augment).crops()):
			return bad("%s has images of %v; those of %s are of %v: %s", images.Name, have, p.images.Name, want,
				alike(have, want))
		case f.batch < 1 || f.batch > images.Len():
			return bad("batches of %d images, but %s has %d; take more of them, or smaller batches, as by "+
				"certspec train --set %s.batch=%d", f.batch, images.Name, images.Len(), need.Name,
				max(1, min(f.batch, images.Len())))
		case !slices.Contains(Augmentations(), f.augment):
			return bad("no augmentation %q; there are %s", f.augment, choice.List(Augmentations()))
		case !(f.sigma >= 0) || math.IsInf(f.sigma, 0):
			return bad("σ = %v; expected 0 or more", f.sigma)
		}
		for i, label := range images.Labels {
			if need.Labelled && (label < 0 || label >= len(p.run.Classes)) {
				return bad("image %d of %s has the label %d; expected one of %d classes", images.IDs[i], images.Name,
					label, len(p.run.Classes))
			}
		}
		n, err := 0, error(nil)
		if need.Foreign {
			n, err = p.inBoth(ctx, images)
		}
		if err != nil {
			return err
		}
		if 100*n >= images.Len() {
			return bad("%d of %d images of %s are among those to learn from, %s; expected images that are of none "+
				"of the classes", n, images.Len(), images.Name, p.images.Name)
		} else if n > 0 {
			p.warn(fmt.Sprintf("the set %s: %d of %d images of %s are among those to learn from, too", need.Name, n,
				images.Len(), images.Name))
		}
		p.warn(images.Warnings...)
		p.more = append(p.more, f)
		p.run.Recipe.Sets = append(p.run.Recipe.Sets, modelfile.Set{
			Name: f.name, Data: modelfile.Data{Name: images.Name, Images: images.Len(), Digest: images.Digest},
			Batch: f.batch, Augment: f.augment, Views: set.Views, Sigma: f.sigma,
		})
	}
	for name := range p.options.More {
		if !slices.Contains(names, name) {
			return fmt.Errorf("train: a set %q, but the method %s takes %s", name, p.method.Name(),
				cmp.Or(strings.Join(names, ", "), "no further sets"))
		}
	}
	return nil
}

// alike says what gives images of one shape another.
func alike(have, want pixel.Shape) string {
	var prepare []string
	if have.Channels != want.Channels {
		name := map[int]string{1: "grey", 3: "rgb"}[want.Channels]
		if name == "" {
			return "no preparation makes them alike"
		}
		prepare = append(prepare, "channels="+name)
	}
	size := fmt.Sprintf("%dx%d", want.Height, want.Width)
	var also string
	switch {
	case have.Height < want.Height || have.Width < want.Width:
		prepare = append(prepare, "resize="+size)
	case have.Height > want.Height || have.Width > want.Width:
		prepare = append(prepare, "crop="+size)
		also = fmt.Sprintf("; resize=%s in the place of crop shrinks them whole, and an augmentation by %s or %s "+
			"takes random windows without either", size, onlyCrop, cropFlip)
	}
	return fmt.Sprintf("[%s] behind its name makes them alike%s", strings.Join(prepare, ","), also)
}

// inBoth counts the images of a set that the run learns from, too.
func (p *plan) inBoth(ctx context.Context, images *pictureSet) (n int, err error) {
	if images.Shape != p.images.Shape {
		return 0, nil
	}
	seed, learnt := maphash.MakeSeed(), make(map[uint64]bool, p.images.Len())
	for one, err := range p.images.Ahead(ctx, 0, p.images.Len()) {
		if err != nil {
			return 0, err
		}
		learnt[maphash.Bytes(seed, one.Pixels)] = true
	}
	for one, err := range images.Ahead(ctx, 0, images.Len()) {
		if err != nil {
			return 0, err
		}
		if learnt[maphash.Bytes(seed, one.Pixels)] {
			n++
		}
	}
	return n, nil
}

// nextMore are the members of a step, set by set. It is called by one goroutine, step by step.
func (p *plan) nextMore(step int) [][]member {
	var all [][]member
	for k := range p.more {
		f := &p.more[k]
		var of []member
		for i := range f.batch {
			at := step*f.batch + i
			pass, place := at/f.images.Len(), at%f.images.Len()
			if f.order == nil || pass != f.pass {
				f.pass, f.order = pass, stream(p.run.Recipe.Seed, moreOrderStream, pass, 0, k).Perm(f.images.Len())
			}
			of = append(of, member{pass, f.order[place]})
		}
		all = append(all, of)
	}
	return all
}

// moreImages prepares them.
func (p *plan) moreImages(all [][]member) (list []moreImages, err error) {
	size, shape := p.images.Shape.Len(), p.images.Shape
	for k, of := range all {
		f := p.more[k]
		m := moreImages{make([]float32, len(of)*size), make([]int32, len(of))}
		for i, one := range of {
			random := stream(p.run.Recipe.Seed, moreImageStream, one.pass, one.image, k)
			out := m.images[i*size:][:size]
			v := viewing{f.augment, f.views, augment.Address{Seed: p.run.Recipe.Seed, Epoch: uint64(one.pass),
				Image: uint64(f.images.IDs[one.image]), View: uint64(k + 1)}}
			pixels, err := f.images.image(one.image)
			if err != nil {
				return nil, err
			}
			if err := v.of(pixels, f.images.Shape, shape, random, random, out); err != nil {
				return nil, fmt.Errorf("image %d of %s: %w", f.images.IDs[one.image], f.images.Name, err)
			}
			gaussian{sigma: f.sigma}.to(out, random)
			if m.labels[i] = -1; p.needs.Sets[k].Labelled {
				m.labels[i] = int32(f.images.Labels[one.image])
			}
		}
		list = append(list, m)
	}
	return list, nil
}
