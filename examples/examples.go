// Package examples holds small programs in Python for users of certspec: models over a pipe, one of them from its
// training to an ONNX file, and a reader of ledgers.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed pipe/*.py mlp/*.py read_ledger.py
var files embed.FS

// Write puts the programs into dir, in the folders in which they lie here.
func Write(dir string) error {
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
	if err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	return nil
}
