package lesson

import (
	"crypto/sha256"
	"os"
	"sync"

	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/ood"
)

// measured are the files that were read, by path and SHA-256.
var measured sync.Map

// Measured is a file of bounds or attacks, checked once for each content that it has.
func Measured(path string) *ood.Measurement {
	type content struct {
		path   string
		digest [sha256.Size]byte
	}
	c := content{path, sha256.Sum256(nb.Must(os.ReadFile(path)))}
	if m, ok := measured.Load(c); ok {
		return m.(*ood.Measurement)
	}
	m := nb.Must(ood.Read(path))
	measured.Store(c, m)
	return m
}
