package dataset

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/inflate"
)

// maxKept bounds the size of all pictures of an archive that stay in memory, maxPicture that of one encoded picture.
var maxKept int64 = 1 << 25

const maxPicture = 1 << 27

// folder is a folder of PNG or JPEG pictures, or a .tar or .tar.gz of one.
type folder struct {
	root    string                                                    // of the file system; empty for an archive
	archive func(context.Context) (*inflate.Stream, io.Closer, error) // opens it
	file    string                                                    // the archive
	inner   string                                                    // part of the archive
	// those right below it, some of which may be empty
	folders []string
	// paths below the folder, with slashes, in bytewise order
	pictures []string
	others   []string // files that are no pictures
	// the pictures of an archive, where they are small
	kept map[string][]byte
	// of the pictures of a larger archive in plain, itself or an unpacked copy; nil: not known
	places map[string]place
	plain  string
	listed fs.FileInfo // the archive, when they were found
}

// place is where a picture lies in the file of an archive.
type place struct{ from, size int64 }

// readFolder lists a folder; its pictures are decoded where a subset holds them. Below it stand
// either CLASS/PICTURE files, where the classes are the sorted folder names, with empty ones
// (folders that are all named by numbers have these as labels), or those of p.Classes, or pictures
// without any folder, whose labels are unknown. The order is the bytewise order of the paths.
func readFolder(ctx context.Context, name string, p Preparation) (*records, error) {
	archive, inner, err := findArchive(name)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	f := &folder{file: archive, inner: inner}
	if archive == "" {
		f.root = name
		err = f.listTree(ctx)
	} else {
		f.archive = func(ctx context.Context) (*inflate.Stream, io.Closer, error) { return openPlain(ctx, archive) }
		if err = f.listArchive(ctx); err == nil && f.kept == nil {
			err = f.find(ctx)
		}
	}
	r := new(records)
	switch {
	case f.root != "":
		r.stamp = func(id int) (string, fs.FileInfo, error) {
			return stampOf(filepath.Join(f.root, filepath.FromSlash(f.pictures[id])), "")
		}
	case f.kept != nil || f.places != nil:
		r.oneFile = true
		r.stamp = func(id int) (string, fs.FileInfo, error) { return stampOf(archive, f.pictures[id]) }
	}
	names := sha256.New()
	for _, name := range f.pictures {
		fmt.Fprintf(names, "%s\x00", name)
	}
	r.listing = fmt.Sprintf(", %x", names.Sum(nil))
	r.jpegs = slices.ContainsFunc(f.pictures,
		func(name string) bool { return strings.ToLower(path.Ext(name)) != ".png" })
	if err == nil {
		err = r.label(f, p.Classes)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", name, err)
	}
	for i := range r.warnings {
		r.warnings[i] = name + ": " + r.warnings[i]
	}
	r.decode = func(ctx context.Context, ids []int) (*block, error) {
		paths := make([]string, len(ids))
		for i, id := range ids {
			paths[i] = f.pictures[id]
		}
		b, err := f.decode(ctx, paths, p)
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", name, err)
		}
		return b, nil
	}
	if len(f.others) > 0 {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"%s: %d files that are no .png, .jpg or .jpeg were left out, e.g. %s", name, len(f.others), f.others[0]))
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

// leftOut reports whether a file or folder is one that a system or program puts beside pictures, as
// .ipynb_checkpoints and __MACOSX.
func leftOut(name string) bool {
	switch strings.ToLower(name) {
	case "__macosx", "__pycache__", "@eadir", "$recycle.bin", "system volume information", "lost+found":
		return true
	}
	return strings.HasPrefix(name, ".")
}

// listTree finds the pictures below a folder, without what is left out.
func (f *folder) listTree(ctx context.Context) error {
	err := filepath.WalkDir(f.root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if name != f.root && leftOut(entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(f.root, name)
		switch relative = filepath.ToSlash(relative); {
		case err != nil:
			return err
		case entry.IsDir():
			f.addFolder(relative)
		default:
			f.add(relative)
		}
		return nil
	})
	return f.sorted(err)
}

// sorted ends a listing.
func (f *folder) sorted(err error) error {
	if err == nil && len(f.pictures) == 0 {
		err = errors.New("no .png, .jpg or .jpeg files")
	}
	slices.Sort(f.pictures)
	return err
}

func (f *folder) addFolder(name string) {
	if name != "." && !strings.Contains(name, "/") {
		f.folders = append(f.folders, name)
	}
}

func (f *folder) add(name string) {
	if isPicture(name) {
		f.pictures = append(f.pictures, name)
	} else {
		f.others = append(f.others, name)
	}
}

// listArchive finds the pictures in an archive. Pictures that stand there twice are errors.
func (f *folder) listArchive(ctx context.Context) error {
	seen := map[string]bool{}
	size := int64(0)
	f.kept = map[string][]byte{}
	err := f.walkArchive(ctx, func(name string, entry *tar.Header, file io.Reader) error {
		switch {
		case entry.Typeflag == tar.TypeDir:
			f.addFolder(name)
			return nil
		case entry.Typeflag != tar.TypeReg:
			f.others = append(f.others, name)
			return nil
		case seen[name]:
			return errors.New("the name stands twice in the archive")
		}
		seen[name] = isPicture(name)
		f.add(name)
		if !seen[name] {
			return nil
		}
		if size += entry.Size; size > maxKept {
			f.kept = nil
		}
		if f.kept == nil {
			return nil
		}
		data, err := readPicture(file)
		f.kept[name] = data
		return err
	})
	return f.sorted(err)
}

// walkArchive visits what stands below the inner folder of an archive, without what is left out; names that leave the
// archive are errors.
func (f *folder) walkArchive(ctx context.Context, visit func(name string, entry *tar.Header,
	data io.Reader) error) error {
	r, closer, err := f.archive(ctx)
	if err != nil {
		return err
	}
	defer closer.Close()
	inner := path.Clean(f.inner)
	return r.Tar(func(entry *tar.Header, data io.Reader) error {
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
		if slices.ContainsFunc(strings.Split(name, "/"), leftOut) {
			return nil
		}
		return visit(name, entry, data)
	})
}

// each visits the files of some pictures, by their place in paths, one after the other: those of an
// archive that is not kept in its order.
func (f *folder) each(ctx context.Context, paths []string, visit func(i int, data []byte) error) error {
	if f.root != "" {
		for i, name := range paths {
			if err := f.open(name, func(data []byte) error { return visit(i, data) }); err != nil {
				return err
			}
		}
		return nil
	}
	if f.kept != nil {
		for i, name := range paths {
			if err := visit(i, f.kept[name]); err != nil {
				return err
			}
		}
		return nil
	}
	if info, err := os.Stat(f.file); f.places != nil && err == nil && info.Size() == f.listed.Size() &&
		info.ModTime().Equal(f.listed.ModTime()) {
		return f.eachPlace(paths, visit)
	}
	wanted := make(map[string]int, len(paths))
	for i, name := range paths {
		wanted[name] = i
	}
	err := f.walkArchive(ctx, func(name string, entry *tar.Header, file io.Reader) error {
		i, ok := wanted[name]
		if !ok || entry.Typeflag != tar.TypeReg {
			return nil
		}
		delete(wanted, name)
		data, err := readPicture(file)
		if err != nil {
			return err
		}
		return visit(i, data)
	})
	if err != nil {
		return err
	}
	for name := range wanted {
		return fmt.Errorf("%s: it is no longer in the archive", name)
	}
	return nil
}

// stampOf is the absolute path of a picture, in an archive with its name there, and what the system says of the file.
func stampOf(path, inside string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	if path, err = filepath.Abs(path); inside != "" {
		path += "#" + inside
	}
	return path, info, err
}

// find finds where the pictures of a large archive lie. A compressed one is unpacked into the cache, where a copy of an
// earlier version gives way.
func (f *folder) find(ctx context.Context) (err error) {
	if f.listed, err = os.Stat(f.file); err != nil {
		return err
	}
	f.plain = f.file
	if f.places = placesIn(f.plain); f.places != nil {
		return nil
	}
	r, closer, err := f.archive(ctx)
	if err != nil {
		return err
	}
	defer closer.Close()
	if !r.Zipped() {
		return nil // it has files in several parts
	}
	dir, err := cache.Dir("unpacked")
	if err != nil {
		return err
	}
	path, err := filepath.Abs(f.file)
	if err != nil {
		return err
	}
	name := func(of ...any) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, of...)))[:24] }
	of := filepath.Join(dir, name(path)+"-")
	f.plain = of + name(f.listed.Size(), f.listed.ModTime().UnixNano()) + ".tar"
	if _, err := os.Stat(f.plain); err != nil {
		others, _ := filepath.Glob(of + "*.tar")
		for _, other := range others {
			os.Remove(other)
		}
		if err := atomicfile.Build(f.plain, func(w io.Writer) error {
			_, err := io.Copy(w, r)
			return err
		}); err != nil {
			return fmt.Errorf("unpack it into the cache: %w; make room there, or unpack it to a folder and name that",
				err)
		}
	}
	f.places = placesIn(f.plain)
	return nil
}

// placesIn finds where the files of an archive lie that is neither compressed nor has files in several parts; else nil.
func placesIn(archive string) map[string]place {
	file, err := os.Open(archive)
	if err != nil {
		return nil
	}
	defer file.Close()
	places := map[string]place{}
	r := tar.NewReader(file)
	for {
		entry, err := r.Next()
		if err == io.EOF {
			return places
		}
		if err != nil {
			return nil
		}
		for key := range entry.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse") {
				return nil
			}
		}
		if entry.Typeflag == tar.TypeGNUSparse {
			return nil
		}
		at, err := file.Seek(0, io.SeekCurrent) // the reader of a file takes whole blocks of headers alone
		if err != nil {
			return nil
		}
		places[path.Clean(entry.Name)] = place{at, entry.Size}
	}
}

// eachPlace is each by the places in the archive.
func (f *folder) eachPlace(paths []string, visit func(i int, data []byte) error) error {
	file, err := os.Open(f.plain)
	if err != nil {
		return err
	}
	defer file.Close()
	for i, name := range paths {
		at, found := f.places[path.Join(f.inner, name)]
		if !found {
			return fmt.Errorf("%s: it is no longer in the archive", name)
		}
		if at.size > maxPicture {
			return fmt.Errorf("%s: picture of more than %d bytes", name, maxPicture)
		}
		data := make([]byte, at.size)
		if _, err := file.ReadAt(data, at.from); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := visit(i, data); err != nil {
			return err
		}
	}
	return nil
}

// open reads a file of a folder.
func (f *folder) open(name string, visit func(data []byte) error) error {
	file, err := os.Open(filepath.Join(f.root, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := readPicture(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return visit(data)
}

func readPicture(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = fmt.Errorf("picture of more than %d bytes", maxPicture)
	}
	return data, err
}
