package dataset

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/pixel"
)

// cifarShape is the shape of an image in the binary form of CIFAR: records of the label bytes, then
// 3072 bytes in channel, row, column order. CIFAR-10 has one label byte; CIFAR-100 a coarse one,
// then the fine one that counts.
var cifarShape = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// readCIFAR reads the named files in order, from paths or, if that is one archive, out of it.
func readCIFAR(ctx context.Context, paths, files []string, labelBytes, classes int) (*records, error) {
	r := &records{block: block{shape: cifarShape}}
	if strings.Contains(filepath.Base(paths[0]), ".tar") {
		members, err := readMembers(ctx, paths[0], files)
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", paths[0], err)
		}
		for i, member := range members {
			if err := decodeCIFAR(bytes.NewReader(member), r, labelBytes, classes); err != nil {
				return nil, fmt.Errorf("dataset: %s: %s: %w", paths[0], files[i], err)
			}
		}
		return r, nil
	}
	for _, name := range paths {
		file, closer, err := openPlain(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		err = decodeCIFAR(file, r, labelBytes, classes)
		closer.Close()
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", name, err)
		}
	}
	return r, nil
}

// readMembers reads some files of a tar archive, in the order of their names here.
func readMembers(ctx context.Context, archive string, names []string) ([][]byte, error) {
	r, closer, err := openPlain(ctx, archive)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	members := make([][]byte, len(names))
	err = r.Tar(func(entry *tar.Header, data io.Reader) (err error) {
		if i := slices.Index(names, path.Clean(entry.Name)); i >= 0 {
			members[i], err = io.ReadAll(data)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, member := range members {
		if member == nil {
			return nil, fmt.Errorf("no %s in the archive", names[i])
		}
	}
	return members, nil
}

// decodeCIFAR appends the records of one file.
func decodeCIFAR(file io.Reader, r *records, labelBytes, classes int) error {
	file = bufio.NewReader(file)
	plane := cifarShape.Height * cifarShape.Width
	record := make([]byte, labelBytes+cifarShape.Len())
	for i := 0; ; i++ {
		n, err := io.ReadFull(file, record)
		switch {
		case errors.Is(err, io.EOF):
			if i == 0 {
				return errors.New("the file is empty")
			}
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("the file ends %d bytes into record %d; expected records of %d bytes", n, i, len(record))
		case err != nil:
			return err
		}
		label := int(record[labelBytes-1])
		if label >= classes {
			return fmt.Errorf("record %d has label %d; expected 0 to %d", i, label, classes-1)
		}
		r.labels = append(r.labels, label)
		values := record[labelBytes:]
		for p := range plane {
			r.pixels = append(r.pixels, values[p], values[plane+p], values[2*plane+p])
		}
	}
}
