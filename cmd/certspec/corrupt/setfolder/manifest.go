package setfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/pixel"
)

// manifestName is the name of the file that describes the others in a folder.
const manifestName = "manifest.json"

// Manifest says how the files of a folder were made. It holds all that can change a byte, and no times, versions of the
// program or numbers of workers.
type Manifest struct {
	Generator string      `json:"generator"` // "certspec corrupt v1": the version of the random streams
	Key       corrupt.Key `json:"key"`
	Base      Base        `json:"base"`
	Frost     string      `json:"frost,omitempty"`   // "substitute", or the SHA-256 of the photographs
	Fourier   *FourierLaw `json:"fourier,omitempty"` // constants of CIFAR-F, where it is there
	Labels    *MadeFile   `json:"labels"`            // null: the base set has none
	Files     []MadeFile  `json:"files"`             // in the order they were asked for
	Classes   []string    `json:"classes,omitempty"`
}

// Base is the set that was corrupted.
type Base struct {
	Name   string      `json:"name"`
	Images int         `json:"images"`
	Shape  pixel.Shape `json:"shape"`
	Digest string      `json:"digest"`
}

// FourierLaw is the constants of the noise of CIFAR-F.
type FourierLaw struct {
	Variant string  `json:"variant"` // "paper", or "archive": what the authors' archive computes
	Lower   float64 `json:"a_lower"`
	Upper   float64 `json:"a_upper"`
	Spread  float64 `json:"b"`
}

// MadeFile is a file that is complete.
type MadeFile struct {
	corrupt.File
	Shape  []int  `json:"shape"`
	SHA256 string `json:"sha256"`
}

// ManifestError is a folder that holds another set.
type ManifestError struct {
	Path       string
	What       string // the first difference, as "key.seed"
	Here, Want string
}

func (e *ManifestError) Error() string {
	return fmt.Sprintf("corrupt: %s was made with %s %s; expected %s: take another folder, or the old settings", e.Path,
		e.What, e.Here, e.Want)
}

// readManifest gives nil where there is none.
func readManifest(folder string) (*Manifest, error) {
	path := filepath.Join(folder, manifestName)
	data, err := textfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("corrupt: %w", err)
	}
	return parseManifest(path, data)
}

func parseManifest(path string, data []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("corrupt: %s is no manifest: %w", path, err)
	}
	return m, nil
}

// write adds a file, which is complete, to the manifest of a folder. Other runs may have added theirs meanwhile.
func (m *Manifest) write(folder string, made MadeFile) error {
	path := filepath.Join(folder, manifestName)
	return journal.Update(path, func(old []byte) ([]byte, error) {
		if old != nil {
			there, err := parseManifest(path, old)
			if err == nil {
				err = there.agree(folder, m)
			}
			if err != nil {
				return nil, err
			}
			m.Files = there.Files
		}
		m.Files = append(slices.DeleteFunc(m.Files, func(f MadeFile) bool { return f.Name == made.Name }), made)
		data, err := json.MarshalIndent(m, "", "  ")
		return append(data, '\n'), err
	})
}

// agree compares what the whole folder has in common.
func (m *Manifest) agree(folder string, want *Manifest) error {
	for _, c := range []struct {
		what       string
		here, want any
	}{
		{"generator", m.Generator, want.Generator},
		{"key.data", m.Key.Data, want.Key.Data},
		{"key.seed", m.Key.Seed, want.Key.Seed},
		{"base.digest", m.Base.Digest, want.Base.Digest},
		{"base.images", m.Base.Images, want.Base.Images},
	} {
		if c.here != c.want {
			return &ManifestError{filepath.Join(folder, manifestName), c.what, fmt.Sprint(c.here), fmt.Sprint(c.want)}
		}
	}
	if m.Frost != "" && want.Frost != "" && m.Frost != want.Frost {
		return &ManifestError{filepath.Join(folder, manifestName), "frost", m.Frost, want.Frost}
	}
	if m.Fourier != nil && want.Fourier != nil && m.Fourier.Variant != want.Fourier.Variant {
		return &ManifestError{filepath.Join(folder, manifestName), "fourier.variant", m.Fourier.Variant,
			want.Fourier.Variant}
	}
	return nil
}

// find is the complete file of a name, or nil.
func (m *Manifest) find(name string) *MadeFile {
	for i := range m.Files {
		if m.Files[i].Name == name {
			return &m.Files[i]
		}
	}
	return nil
}
