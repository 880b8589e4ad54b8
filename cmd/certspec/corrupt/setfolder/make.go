// Package setfolder makes a folder of corrupted images, with a manifest that says how, and resumes it.
package setfolder

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/progress"
)

// MakeOptions are the options of Make. The bytes depend on the seed alone.
type MakeOptions struct {
	Seed     uint64
	Workers  int // 0 for one per processor
	Progress progress.Reporter
}

// Make writes files in the layout of CIFAR-C into a folder. NAME.npy has the images of all strengths, one block after
// the other, labels.npy the labels as often. manifest.json has the settings and the SHA-256 of each file. A file gets
// its name only when it is complete. Files that are there and have the hash of the manifest stay, so an interrupted run
// goes on. A folder with the manifest of another set is a *ManifestError; a file with other bytes that no manifest
// knows is an error. Several runs may add files to a folder at once. Images are read and corrupted in pieces.
func Make(ctx context.Context, d *dataset.Dataset, folder string, files []corrupt.File,
	o MakeOptions) (*Manifest, error) {
	images, err := d.Index(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		Generator: "certspec corrupt " + shared.StreamVersion,
		Key:       corrupt.Key{Data: corrupt.SetName(d.String()), Seed: o.Seed},
		Base:      Base{images.Name, images.Len(), images.Shape, images.Digest},
		Classes:   images.Classes,
	}
	atomicfile.Sweep(folder)
	made := &maker{images: images, folder: folder, manifest: m, options: o}
	_, before := os.Lstat(filepath.Join(folder, labelsName))
	if err = made.prepare(files); err == nil {
		for i := 0; i < len(files) && err == nil; i++ {
			err = made.file(ctx, files[i])
		}
	}
	if err == nil {
		return m, nil
	}
	if len(m.Files) == 0 && errors.Is(before, fs.ErrNotExist) { // labels of nothing
		os.Remove(filepath.Join(folder, labelsName))
		os.Remove(folder) // where it is empty
	}
	return nil, err
}

const labelsName = "labels.npy"

// maker is a run of Make.
type maker struct {
	images   *imageset.Index
	folder   string
	manifest *Manifest
	options  MakeOptions
	blocks   int // of every file
}

// prepare checks all settings before the first image, takes over what an earlier run has made, and writes labels.
func (m *maker) prepare(files []corrupt.File) error {
	if len(files) == 0 {
		return errors.New("corrupt: no files to make")
	}
	m.blocks = len(files[0].Settings)
	for _, f := range files {
		if len(f.Settings) != m.blocks {
			return fmt.Errorf("corrupt: %s has %d strengths and %s %d; they cannot share labels.npy: use a folder "+
				"for each", f.Name, len(f.Settings), files[0].Name, m.blocks)
		}
		for _, s := range f.Settings {
			if _, err := corrupt.New(s, m.images.Shape, m.manifest.Key); err != nil {
				return err
			}
			if err := m.describe(s); err != nil {
				return err
			}
		}
	}
	old, err := readManifest(m.folder)
	if err != nil {
		return err
	}
	if old != nil {
		if err := old.agree(m.folder, m.manifest); err != nil {
			return err
		}
		m.manifest.Files = old.Files
		m.manifest.Frost = max(m.manifest.Frost, old.Frost)
		if m.manifest.Fourier == nil {
			m.manifest.Fourier = old.Fourier
		}
	}
	return m.labels(old)
}

// describe adds what the manifest says of single corruptions.
func (m *maker) describe(s corrupt.Setting) error {
	switch s.Name {
	case shared.FourierName:
		variant := "paper"
		if s.Archive {
			variant = "archive"
		}
		m.manifest.Fourier = &FourierLaw{variant, shared.FourierLower, shared.FourierUpper, shared.FourierSpread}
	case "frost":
		m.manifest.Frost = "substitute"
		if s.Photographs != "" {
			sum, err := photographsDigest(s.Photographs)
			if err != nil {
				return err
			}
			m.manifest.Frost = "photographs sha256:" + sum
		}
	}
	return nil
}

// labels writes labels.npy, uint8, or int64 where there are more than 256 classes. Where the base
// set has none, there is no file.
func (m *maker) labels(old *Manifest) error {
	if old != nil && old.Labels != nil && len(old.Labels.Shape) == 1 && old.Labels.Shape[0] != m.blocks*m.images.Len() {
		return &ManifestError{filepath.Join(m.folder, manifestName), "labels.npy of", fmt.Sprint(old.Labels.Shape[0]),
			fmt.Sprint(m.blocks * m.images.Len())}
	}
	if slices.Min(m.images.Labels) < 0 {
		return nil
	}
	width, descr := 1, "|u1"
	if slices.Max(m.images.Labels) > 255 {
		width, descr = 8, "<i8"
	}
	var block []byte
	for _, label := range m.images.Labels {
		for i := range width {
			block = append(block, byte(label>>(8*i)))
		}
	}
	labels := corrupt.File{Name: labelsName}
	made, err := m.array(labels, descr, []int{m.blocks * m.images.Len()}, func(w io.Writer) error {
		for range m.blocks {
			if _, err := w.Write(block); err != nil {
				return err
			}
		}
		return nil
	})
	m.manifest.Labels = made
	return err
}

// file makes one file, unless it is there.
func (m *maker) file(ctx context.Context, f corrupt.File) error {
	path := filepath.Join(m.folder, f.Name)
	if done := m.manifest.find(f.Name); done != nil {
		// Where the photographs lie makes no difference; their digest has been compared.
		if !reflect.DeepEqual(withoutPaths(done.Settings), withoutPaths(f.Settings)) {
			return &ManifestError{filepath.Join(m.folder, manifestName), f.Name + " of", fmt.Sprint(done.Settings),
				fmt.Sprint(f.Settings)}
		}
		switch sum, err := digestOf(path); {
		case err == nil && sum == done.SHA256:
			return nil
		case err == nil:
			return fmt.Errorf("corrupt: %s has the SHA-256 %s; the manifest has %s: remove the file to make it again",
				path, sum, done.SHA256)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("corrupt: %w", err)
		}
	}
	s := m.images.Shape
	made, err := m.array(f, "|u1", []int{m.blocks * m.images.Len(), s.Height, s.Width, s.Channels},
		func(w io.Writer) error {
			for _, setting := range f.Settings {
				if err := m.block(ctx, w, setting); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	made.Settings = withoutPaths(f.Settings)
	return m.manifest.write(m.folder, *made)
}

// piece is how many bytes of pixels are corrupted at a time, of at least one image.
var piece = 16 << 20

// block writes all images under one setting.
func (m *maker) block(ctx context.Context, w io.Writer, setting corrupt.Setting) error {
	c, err := corrupt.New(setting, m.images.Shape, m.manifest.Key)
	if err != nil {
		return err
	}
	size, n := m.images.Shape.Len(), m.images.Len()
	step := max(1, piece/size)
	pixels := make([]uint8, 0, min(step, n)*size)
	out := make([]uint8, cap(pixels))
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		pixels = pixels[:0]
		for one, err := range m.images.Ahead(ctx, from, to) {
			if err != nil {
				return err
			}
			pixels = append(pixels, one.Pixels...)
		}
		report := m.options.Progress
		if report != nil {
			report = func(s progress.State) {
				s.Done, s.Total, s.Final, s.Left = s.Done+float64(from), float64(n), s.Final && to == n, -1
				if s.Rate > 0 {
					s.Left = time.Duration((s.Total - s.Done) / s.Rate * float64(time.Second))
				}
				m.options.Progress(s)
			}
		}
		out = out[:len(pixels)]
		if err := c.Images(ctx, out, pixels, m.images.IDs[from:to], m.options.Workers, report); err != nil {
			return err
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// withoutPaths are the settings as a manifest holds them, which is to be equal on all machines.
func withoutPaths(settings []corrupt.Setting) []corrupt.Setting {
	list := slices.Clone(settings)
	for i := range list {
		list[i].Photographs = ""
	}
	return list
}

// array writes a NumPy file in one step. One that is there stays if it has the same bytes: a run was killed between it
// and its manifest, or another one makes it, too.
func (m *maker) array(f corrupt.File, descr string, shape []int, write func(io.Writer) error) (*MadeFile, error) {
	path := filepath.Join(m.folder, f.Name)
	h := sha256.New()
	build := func(file io.Writer) error {
		w := bufio.NewWriter(io.MultiWriter(file, h))
		if err := npy.WriteHeader(w, descr, shape...); err != nil {
			return err
		}
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	there, err := digestOf(path)
	if known := err == nil && f.Settings != nil; known {
		err = build(io.Discard)
		if err == nil && there != hex.EncodeToString(h.Sum(nil)) {
			err = fmt.Errorf("corrupt: %s is there with other bytes, and no manifest knows it; take another folder, or "+
				"remove it", path)
		}
	} else {
		err = atomicfile.Build(path, build)
	}
	if err != nil {
		return nil, err
	}
	return &MadeFile{File: f, Shape: shape, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

func digestOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// photographsDigest is the hexadecimal SHA-256 of the photographs of frost in a folder that would
// be used, one file after the other.
func photographsDigest(folder string) (string, error) {
	files, err := shared.PhotographFiles(folder)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("corrupt: frost: %w", err)
		}
		io.WriteString(h, strconv.Itoa(len(data))+"\n")
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
