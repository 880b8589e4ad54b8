// Package golden holds digests of what certspec wrote when it was at version 0: ledgers, tables, files, one small case of each verb.
// A digest that differs means that the same command gives other bytes, figures or seeds than it gave to those who published them.
//
// Digests are never made again for a case that has one. Where a format changes on purpose, the old file stays and is opened, resumed or
// derived again, and the new form is a case of its own, with the reason beside it. A case without a digest gets one by
//
//	go test ./internal/golden -args -keep
package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var keep = flag.Bool("keep", false, "keep the digests of cases that have none")

const repository = "../.." // from this folder

// book is a file of digests by the name of the case.
type book struct {
	file string
	mu   sync.Mutex
	want map[string]string
}

func openBook(file string) *book {
	b := &book{file: filepath.Join("testdata", file), want: map[string]string{}}
	text, err := os.ReadFile(b.file)
	if errors.Is(err, fs.ErrNotExist) {
		return b
	}
	if err == nil {
		err = json.Unmarshal(text, &b.want)
	}
	if err != nil {
		panic(err)
	}
	return b
}

// check compares what a case gives with its digest.
func (b *book) check(t *testing.T, name string, content []byte) {
	t.Helper()
	sum := sha256.Sum256(content)
	have := hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	want, known := b.want[name]
	switch {
	case known && have == want:
	case known:
		t.Errorf("%s changed: it has the digest %s, kept is %s. It is now\n%s", name, have, want, content[:min(len(content), 4000)])
	case !*keep:
		t.Errorf("%s has no digest in %s; run this test with -args -keep at the commit that it shall be held to", name, b.file)
	default:
		b.want[name] = have
		text, err := json.MarshalIndent(b.want, "", "  ")
		if err == nil {
			err = os.WriteFile(b.file, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// figures skips a test whose figures are rounded otherwise where the compiler fuses a product with a sum.
func figures(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the digests of figures are those of amd64")
	}
}

// built is the folder of the program, where a test has built it.
var built string

// program builds the command line, once.
var program = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "certspec-golden-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "certspec")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./cmd/certspec")
	cmd.Dir = repository
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(text))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// run gives the standard output of the program, which works in the repository's folder.
func run(t *testing.T, args ...string) []byte {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = repository
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("certspec %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
	return out
}

// without gives JSON in one form, keys in order, and leaves out the keys that are named, at any depth.
func without(t *testing.T, text []byte, keys ...string) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	drop := map[string]bool{}
	for _, key := range keys {
		drop[key] = true
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if drop[key] {
					delete(v, key)
					continue
				}
				walk(value)
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	walk(v)
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
