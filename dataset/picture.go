package dataset

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/pixel"
)

// block is some decoded pictures of a folder.
type block struct {
	shape  pixel.Shape
	pixels []uint8
	notes  []string // one per picture that was decoded; most are empty
	jpegs  bool     // whether JPEG pictures are among them, or in their folder
}

// decode decodes and prepares pictures, which must then all have one size and number of channels.
func (f *folder) decode(ctx context.Context, paths []string, p Preparation) (*block, error) {
	background, err := parseColor(p.Background)
	if err != nil {
		return nil, err
	}
	d := &decoder{paths: paths, p: p, options: picture.Options{Background: background, Reduce16: p.Reduce16,
		JPEG: p.JPEG}}
	type job struct {
		turn, i int
		data    []byte
	}
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		workers.Go(func() {
			for j := range jobs {
				d.fail(j.turn, d.take(j.i, j.data))
			}
		})
	}
	turn := 0
	err = f.each(ctx, paths, func(i int, data []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if turn == 0 {
			d.fail(turn, d.begin(i, data))
		} else {
			jobs <- job{turn, i, data}
		}
		turn++
		return d.failed()
	})
	close(jobs)
	workers.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.failed() != nil:
		return nil, d.failed()
	}
	return &d.block, err
}

// decoder fills a block. All pictures are to be as the first that is decoded.
type decoder struct {
	paths   []string
	p       Preparation
	options picture.Options

	block
	first     picture.Image
	firstName string

	mu    sync.Mutex
	err   error // of the earliest turn that failed
	errAt int
}

// begin decodes the first picture and makes room for all.
func (d *decoder) begin(i int, data []byte) error {
	im, note, err := d.decode(i, data)
	if err != nil {
		return err
	}
	d.first, d.firstName = im, d.paths[i]
	d.shape = im.Shape
	if d.p.RGB {
		d.shape.Channels = 3
	}
	if err := checkRoom(len(d.paths), d.shape); err != nil {
		return err
	}
	d.pixels = make([]uint8, len(d.paths)*d.shape.Len())
	d.notes = make([]string, len(d.paths))
	d.put(i, im, note)
	return nil
}

// take decodes a further picture.
func (d *decoder) take(i int, data []byte) error {
	im, note, err := d.decode(i, data)
	if err == nil {
		err = sameKind(d.firstName, d.first, d.paths[i], im, d.p)
	}
	if err == nil {
		d.put(i, im, note)
	}
	return err
}

func (d *decoder) decode(i int, data []byte) (im picture.Image, note string, err error) {
	if picture.IsJPEG(data) {
		d.mu.Lock()
		d.jpegs = true
		d.mu.Unlock()
	}
	im, note, err = picture.Decode(data, d.options)
	if err == nil && d.p.croppedBefore(im.Shape.Height, im.Shape.Width) {
		err = fmt.Errorf("the picture has the %d×%d pixels to crop to already, as those of ImageNet-C do, and would "+
			"be enlarged and cropped again; expected it without resize and crop", im.Shape.Height, im.Shape.Width)
	}
	if err == nil {
		im, err = d.p.image(im)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", d.paths[i], err)
	}
	if note != "" {
		note = d.paths[i] + ": " + note
	}
	return im, note, err
}

// croppedBefore says that pictures of this size would lose their border a second time.
func (p Preparation) croppedBefore(height, width int) bool {
	crop := p.Crop
	if crop.Height == 0 {
		crop.Height = crop.Width
	}
	return p.Border == 0 && crop == Size{height, width} && p.Resize.Height == 0 && p.Resize.Width > min(height, width)
}

func (d *decoder) put(i int, im picture.Image, note string) {
	size := d.shape.Len()
	appendImage(d.pixels[i*size:i*size], im.Pixels, len(im.Pixels) < size)
	d.notes[i] = note
}

func (d *decoder) fail(turn int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && (d.err == nil || turn < d.errAt) {
		d.err, d.errAt = err, turn
	}
}

func (d *decoder) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// part is the images of some places.
func (b *block) part(places []int) *block {
	size := b.shape.Len()
	part := &block{shape: b.shape, jpegs: b.jpegs, pixels: make([]uint8, 0, len(places)*size)}
	for _, i := range places {
		part.pixels = append(part.pixels, b.pixels[i*size:(i+1)*size]...)
		if b.notes != nil {
			part.notes = append(part.notes, b.notes[i])
		}
	}
	return part
}

// warning sums up the notes, or is empty.
func (b *block) warning() string {
	damaged, example := 0, ""
	for _, note := range b.notes {
		if note != "" {
			if damaged == 0 {
				example = note
			}
			damaged++
		}
	}
	if damaged == 0 {
		return ""
	}
	return fmt.Sprintf("%d pictures have an orientation that cannot be read, and are taken as they are stored, e.g. %s",
		damaged, example)
}

// sameKind compares two prepared pictures.
func sameKind(nameA string, a picture.Image, nameB string, b picture.Image, p Preparation) error {
	if a.Shape.Height != b.Shape.Height || a.Shape.Width != b.Shape.Width {
		advice := "a resize and a crop bring them to one size: [resize=256,crop=224] behind the name"
		if p.Resize != (Size{}) {
			advice = "a crop brings them to one size: [resize=256,crop=224] behind the name"
		}
		return fmt.Errorf("%s: %d×%d pixels; expected %d×%d as in %s (%s)",
			nameB, b.Shape.Height, b.Shape.Width, a.Shape.Height, a.Shape.Width, nameA, advice)
	}
	if a.Shape.Channels != b.Shape.Channels && !p.RGB {
		if a.Shape.Channels == 1 {
			nameA, nameB = nameB, nameA
		}
		return fmt.Errorf("%s is grey and %s has colours; expected one kind (channels=rgb makes both RGB)", nameB,
			nameA)
	}
	return nil
}
