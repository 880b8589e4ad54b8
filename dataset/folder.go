package dataset

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxPicture bounds the size of one encoded picture.
const maxPicture = 1 << 28

// readFolder reads a folder of PNG or JPEG pictures, or a .tar or .tar.gz of one.
// Below it stand either CLASS/PICTURE files, where the classes are the sorted
// folder names or those of p.Classes, or pictures without any folder, whose labels are unknown.
// The order is the bytewise order of the paths.
func readFolder(ctx context.Context, name string, p Preparation) (*records, error) {
	archive, inner, err := findArchive(name)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	var pictures []encoded
	var others []string
	if archive == "" {
		pictures, others, err = readTree(ctx, name)
	} else {
		pictures, others, err = readTarFile(ctx, archive, inner)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", name, err)
	}
	r, err := decodePictures(ctx, pictures, p)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", name, err)
	}
	if len(others) > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"%s: %d files that are no .png, .jpg or .jpeg were left out, e.g. %s", name, len(others), others[0]))
	}
	return r, nil
}

// findArchive splits name into an existing archive file and a folder in it.
// The archive is empty where name is a folder of the file system.
func findArchive(name string) (archive, inner string, err error) {
	for p := filepath.Clean(name); ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		switch {
		case err == nil && info.Mode().IsRegular():
			return p, filepath.ToSlash(inner), nil
		case err == nil && inner == "":
			return "", "", nil
		case err == nil || p == filepath.Dir(p):
			return "", "", fmt.Errorf("%s: no such folder or archive", name)
		}
		inner = filepath.Join(filepath.Base(p), inner)
	}
}

func isPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return false
}

// readTree collects the pictures below a folder. Files and folders whose name starts with a dot are not looked at.
func readTree(ctx context.Context, root string) (pictures []encoded, others []string, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if name != root && strings.HasPrefix(entry.Name(), ".") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if !isPicture(relative) {
			others = append(others, relative)
			return nil
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		data, err := readPicture(file)
		pictures = append(pictures, encoded{relative, data})
		return err
	})
	return pictures, others, err
}

func readTarFile(ctx context.Context, archive, inner string) ([]encoded, []string, error) {
	r, closer, err := openPlain(ctx, archive)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	return readTar(r, inner)
}

// readTar collects the pictures below the folder inner of a tar stream.
// Entries whose name has a part that starts with a dot are not looked at; names
// that leave the archive, and pictures that stand there twice, are errors.
func readTar(r io.Reader, inner string) (pictures []encoded, others []string, err error) {
	inner = path.Clean(inner)
	seen := map[string]bool{}
	err = walkTar(r, func(entry *tar.Header, data io.Reader) error {
		name := path.Clean(entry.Name)
		if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, `\`) {
			return errors.New("the name leaves the archive")
		}
		if inner != "." {
			var below bool
			if name, below = strings.CutPrefix(name, inner+"/"); !below {
				return nil
			}
		}
		if entry.Typeflag == tar.TypeDir || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
			return nil
		}
		if entry.Typeflag != tar.TypeReg || !isPicture(name) {
			others = append(others, name)
			return nil
		}
		if seen[name] {
			return errors.New("the name stands twice in the archive")
		}
		seen[name] = true
		bytes, err := readPicture(data)
		pictures = append(pictures, encoded{name, bytes})
		return err
	})
	return pictures, others, err
}

func readPicture(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = fmt.Errorf("picture of more than %d bytes", maxPicture)
	}
	return data, err
}
