package dataset

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/host"
)

const npzPrefix = "npz:"

// npzArrays are the usual names of images and labels in an .npz file, the test part before all:
// those of MedMNIST, of Keras, and plain ones.
var npzArrays = [][2]string{{"test_images", "test_labels"}, {"x_test", "y_test"}, {"images", "labels"}, {"x", "y"},
	{"data", "labels"}, {"data", "targets"}}

// parseNPZ reads the part of a name after "npz:", such as FILE.npz[images=a,labels=b,classes=cifar10].
func parseNPZ(text string) (*array, error) {
	body, list, found := cutLast(strings.TrimSuffix(text, "]"), "[")
	if !strings.HasSuffix(text, "]") || !found {
		body, list = text, ""
	}
	if body == "" {
		return nil, errors.New("no path; expected npz:FILE.npz or npz:FILE.npz[images=NAME,labels=NAME]")
	}
	a := &array{archive: body}
	for _, part := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "images":
			a.images = value
		case "labels":
			a.labels = value
		case "classes":
			s := findSet(value)
			if s == nil {
				return nil, fmt.Errorf("classes is %q; expected the name of a set, e.g. cifar10", value)
			}
			a.classes = s.classes
		}
	}
	return a, nil
}

// ofArchive reports whether a part of a name belongs to the base npz:FILE, and not to what is done to its images.
func ofArchive(base, part string) bool {
	key, value, _ := strings.Cut(part, "=")
	return strings.HasPrefix(base, npzPrefix) && (key == "images" || key == "labels" ||
		key == "classes" && findSet(value) != nil)
}

// readArchive finds the arrays of an .npz file, and reads them.
func (a *array) readArchive(ctx context.Context) (*records, error) {
	file, err := os.Open(a.archive)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	defer file.Close()
	fail := func(err error) (*records, error) { return nil, fmt.Errorf("dataset: %s: %w", a.archive, err) }
	info, err := file.Stat()
	if err != nil {
		return fail(err)
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return fail(fmt.Errorf("no .npz archive: %w", err))
	}
	of := *a
	if err := of.name(z); err != nil {
		return fail(err)
	}
	labels := []int(nil)
	if of.labels != "" {
		part, err := member(ctx, z, of.labels)
		if err == nil {
			labels, err = decodeLabels(ctx, part)
		}
		if err != nil {
			return fail(fmt.Errorf("array %s: %w", of.labels, err))
		}
	}
	part, err := member(ctx, z, of.images)
	if err != nil {
		return fail(fmt.Errorf("array %s: %w", of.images, err))
	}
	r, err := of.readImages(ctx, part, labels)
	if err != nil {
		return fail(fmt.Errorf("array %s: %w", of.images, err))
	}
	return of.complete(r)
}

// name chooses the arrays that the name of the set does not say.
func (a *array) name(z *zip.Reader) error {
	var all []string
	for _, f := range z.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			all = append(all, name)
		}
	}
	has := func(name string) bool { return slices.Contains(all, name) }
	list := strings.Join(all[:min(len(all), 12)], ", ")
	for _, said := range []string{a.images, a.labels} {
		if said != "" && !has(said) {
			return fmt.Errorf("no array %s; it has %s", said, list)
		}
	}
	if a.images == "" {
		i := slices.IndexFunc(npzArrays, func(pair [2]string) bool { return has(pair[0]) })
		if i < 0 {
			return fmt.Errorf("which array has the images? It has %s; expected npz:FILE.npz[images=NAME,labels=NAME]",
				list)
		}
		if a.images = npzArrays[i][0]; a.labels == "" && has(npzArrays[i][1]) {
			a.labels = npzArrays[i][1]
		}
	}
	if a.labels == "" { // beside train_images, say
		label := strings.NewReplacer("images", "labels", "x_", "y_").Replace(a.images)
		if label != a.images && has(label) {
			a.labels = label
		}
	}
	return nil
}

// member is an array of an archive, unpacked in memory.
func member(ctx context.Context, z *zip.Reader, name string) (*npyFile, error) {
	in, err := z.Open(name + ".npy")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%d bytes; expected at most %d", info.Size(), int64(maxBytes))
	}
	if err := host.Room(info.Size()); err != nil {
		return nil, fmt.Errorf("%d bytes: %w; np.save makes a file of the array alone, which is read image by image",
			info.Size(), err)
	}
	data, err := io.ReadAll(contextReader{ctx, in})
	if err != nil {
		return nil, err
	}
	return parseNPY(bytes.NewReader(data), int64(len(data)))
}
