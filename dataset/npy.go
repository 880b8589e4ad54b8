package dataset

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/pixel"
)

// severities is the number of equal blocks, one after the other, in a CIFAR-C file.
const severities = 5

// array is a set of images in NumPy files: uint8 images, N×H×W×C or N×H×W, and
// N integer labels, all -1 without a file of these. With a severity, the images are five equal blocks, of which only
// one is read; the labels are then those of one block, or repeat for each. Of an archive, images and
// labels are the names of its arrays; usual names are taken for those that are not said.
type array struct {
	archive  string // an .npz file; "" for .npy files
	images   string
	labels   string // "" for none
	severity int    // 1 to 5; 0 for all images
	classes  []string
}

// parseArray reads the part of a name after "npy:".
func parseArray(text string) (*array, error) {
	parts := filesOf(strings.Split(text, ","))
	a, options := &array{images: parts[0]}, parts[1:]
	if len(options) > 0 && !strings.HasPrefix(options[0], "severity=") && !strings.HasPrefix(options[0], "classes=") {
		a.labels, options = options[0], options[1:]
	}
	if a.images == "" || len(parts) > 1 && parts[1] == "" {
		return nil, errors.New("expected npy:IMAGES.npy or npy:IMAGES.npy,LABELS.npy, then severity=1…5 or " +
			"classes=SET where wanted")
	}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "severity":
			severity, err := strconv.Atoi(value)
			if err != nil || severity < 1 || severity > severities {
				return nil, fmt.Errorf("severity is %q; expected 1 to %d", value, severities)
			}
			a.severity = severity
		case "classes":
			s := findSet(value)
			if s == nil {
				return nil, fmt.Errorf("classes is %q; expected the name of a set, e.g. cifar10", value)
			}
			a.classes = s.classes
		default:
			return nil, fmt.Errorf("unknown option %q; expected severity=1…%d or classes=SET", option, severities)
		}
	}
	return a, nil
}

// filesOf joins parts that commas in paths have separated: up to one that ends in .npy, where there
// is no file of the first part's name.
func filesOf(parts []string) []string {
	npyName := func(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }
	for place := 0; place < min(2, len(parts)); place++ {
		end := slices.IndexFunc(parts[place:], npyName) + place
		if end <= place || strings.HasPrefix(parts[place], "severity=") || strings.HasPrefix(parts[place], "classes=") {
			continue
		}
		if _, err := os.Stat(parts[place]); err == nil {
			continue
		}
		parts = slices.Concat(parts[:place], []string{strings.Join(parts[place:end+1], ",")}, parts[end+1:])
	}
	return parts
}

func (a *array) read(ctx context.Context) (*records, error) {
	if a.archive != "" {
		return a.readArchive(ctx)
	}
	var labels []int
	if a.labels != "" {
		var err error
		if labels, err = readLabels(ctx, a.labels); err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", a.labels, err)
		}
	}
	file, closer, err := openNPY(a.images)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", a.images, err)
	}
	defer closer.Close()
	r, err := a.readImages(ctx, file, labels)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", a.images, err)
	}
	return a.complete(r)
}

// complete names the classes, and checks the labels.
func (a *array) complete(r *records) (*records, error) {
	r.classes = a.classes
	if r.classes == nil {
		for class := range slices.Max(r.labels) + 1 {
			r.classes = append(r.classes, strconv.Itoa(class))
		}
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", a.files(), err)
	}
	return r, nil
}

// files names them.
func (a *array) files() string {
	switch {
	case a.archive != "":
		return a.archive
	case a.labels == "":
		return a.images
	}
	return a.images + " and " + a.labels
}

func (a *array) readImages(ctx context.Context, file *npyFile, labels []int) (*records, error) {
	if file.dtype != "|u1" {
		return nil, fmt.Errorf("values of type %q; expected \"|u1\" (uint8)", file.dtype)
	}
	r := &records{}
	var err error
	if r.shape, err = imageShape(file.dims); err != nil {
		return nil, err
	}
	first, count := 0, file.dims[0]
	if a.severity > 0 {
		if count%severities != 0 {
			return nil, fmt.Errorf("%d images are not %d blocks of equal size, one for each severity", count,
				severities)
		}
		total := count
		count /= severities
		first = (a.severity - 1) * count
		if len(labels) == total {
			for i, label := range labels {
				if label != labels[i%count] {
					return nil, fmt.Errorf("label %d of %s is %d, but %d in the first block; expected the same "+
						"labels for each severity",
						i, a.labels, label, labels[i%count])
				}
			}
			labels = labels[:count]
		}
	}
	if a.labels == "" {
		labels = slices.Repeat([]int{-1}, count)
	}
	if len(labels) != count {
		return nil, fmt.Errorf("%d images, but %d labels in %s", count, len(labels), a.labels)
	}
	r.labels = labels
	size := int64(r.shape.Len())
	if a.archive == "" && int64(count)*size > int64(small) {
		a.byRange(r, file.offset+int64(first)*size)
		return r, nil
	}
	section := io.NewSectionReader(file, file.offset+int64(first)*size, int64(count)*size)
	r.pixels, err = readExactly(contextReader{ctx, section}, int64(count)*size)
	return r, err
}

// byRange has images read from the file when they are needed; from is the place of the first.
func (a *array) byRange(r *records, from int64) {
	shape, size := r.shape, r.shape.Len()
	r.oneFile = true
	r.stamp = func(id int) (string, fs.FileInfo, error) { return stampOf(a.images, strconv.Itoa(id)) }
	r.decode = func(ctx context.Context, ids []int) (*block, error) {
		if err := checkRoom(len(ids), shape); err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", a.images, err)
		}
		file, err := os.Open(a.images)
		if err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		defer file.Close()
		b := &block{shape: shape, pixels: make([]uint8, len(ids)*size)}
		for i := 0; i < len(ids); {
			n := 1 // images that follow each other are read at once
			for i+n < len(ids) && ids[i+n] == ids[i]+n && n*size < chunk {
				n++
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if _, err := file.ReadAt(b.pixels[i*size:(i+n)*size], from+int64(ids[i])*int64(size)); err != nil {
				return nil, fmt.Errorf("dataset: %s: image %d: %w", a.images, ids[i], err)
			}
			i += n
		}
		return b, nil
	}
}

// imageShape is the shape of the images of an array.
func imageShape(dims []int) (pixel.Shape, error) {
	var s pixel.Shape
	switch len(dims) {
	case 3:
		s = pixel.Shape{Height: dims[1], Width: dims[2], Channels: 1}
	case 4:
		s = pixel.Shape{Height: dims[1], Width: dims[2], Channels: dims[3]}
	default:
		return s, fmt.Errorf("array of shape %v; expected images × height × width × channels", dims)
	}
	if c := s.Channels; c != 1 && c != 3 {
		return s, fmt.Errorf("array of shape %v has %d channels (last dimension); expected 1 or 3", dims, c)
	}
	return s, nil
}

func readLabels(ctx context.Context, path string) ([]int, error) {
	file, closer, err := openNPY(path)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return decodeLabels(ctx, file)
}

func decodeLabels(ctx context.Context, file *npyFile) ([]int, error) {
	if strings.HasPrefix(file.dtype, "<f") {
		return nil, fmt.Errorf("values of type %q; expected \"|u1\", \"<i4\" or \"<i8\"", file.dtype)
	}
	switch {
	case len(file.dims) == 2 && file.dims[1] > 1:
		return nil, fmt.Errorf("array of shape %v, %d labels an image; expected one label an image", file.dims,
			file.dims[1])
	case len(file.dims) != 1 && len(file.dims) != 2:
		return nil, fmt.Errorf("array of shape %v; expected one dimension of labels", file.dims)
	}
	if err := host.Room(8 * int64(file.dims[0])); err != nil {
		return nil, fmt.Errorf("%d labels: %w", file.dims[0], err)
	}
	labels := make([]int, file.dims[0])
	width := int(itemSizes[file.dtype])
	item, in := make([]byte, width), bufio.NewReader(contextReader{ctx, io.NewSectionReader(file, file.offset,
		int64(width*len(labels)))})
	for i := range labels {
		if _, err := io.ReadFull(in, item); err != nil {
			return nil, err
		}
		var value int64
		switch width {
		case 1:
			value = int64(item[0])
		case 4:
			value = int64(int32(binary.LittleEndian.Uint32(item)))
		case 8:
			value = int64(binary.LittleEndian.Uint64(item))
		}
		if value < 0 || value >= maxClasses {
			return nil, fmt.Errorf("label %d is %d; expected 0 to %d", i, value, maxClasses-1)
		}
		labels[i] = int(value)
	}
	return labels, nil
}

// maxClasses bounds the labels of a file that does not say how many classes there are.
const maxClasses = 1 << 20

// npyFile is an open .npy file in C order whose size agrees with its header.
type npyFile struct {
	io.ReaderAt
	dtype  string // of itemSizes
	dims   []int
	offset int64 // of the data
}

func openNPY(path string) (*npyFile, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		var f *npyFile
		if f, err = parseNPY(file, info.Size()); err == nil {
			return f, file, nil
		}
	}
	return nil, nil, errors.Join(err, file.Close())
}

// itemSizes lists the types of values that a file may hold.
var itemSizes = map[string]int64{"|u1": 1, "<i4": 4, "<i8": 8, "<f4": 4, "<f8": 8}

// parseNPY reads the header of a file of the given size, and
// checks that the data fill the rest of the file.
func parseNPY(r io.ReaderAt, size int64) (*npyFile, error) {
	header, offset, err := npy.Read(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	if header.Fortran {
		return nil, errors.New("the array is in Fortran order; expected C order (save np.ascontiguousarray(array))")
	}
	f := &npyFile{ReaderAt: r, dtype: header.Type, dims: header.Shape, offset: offset}
	length, known := itemSizes[f.dtype]
	if !known {
		return nil, fmt.Errorf("values of type %q; expected \"|u1\" (uint8), \"<f4\" or \"<f8\" for images, "+
			"\"|u1\", \"<i4\" or \"<i8\" for labels", f.dtype)
	}
	for _, dim := range f.dims {
		if dim < 1 || length > math.MaxInt64/int64(dim) {
			return nil, fmt.Errorf("array of shape %v; expected positive dimensions and at most %d bytes", f.dims,
				int64(math.MaxInt64))
		}
		length *= int64(dim)
	}
	if size-offset != length {
		return nil, fmt.Errorf("%d bytes of data; expected %d for an array of shape %v", size-offset, length, f.dims)
	}
	return f, nil
}
