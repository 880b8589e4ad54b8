package record

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/certspec/certspec/internal/journal"
)

// Is reports whether the first line of a file says that it is one.
func Is(path string) bool { return journal.Begins(path, headerBegin) }

// Read reads a file, and checks all that it says of itself: the form of each line, the claims, the
// digest. An unfinished file is no error; a foreign or damaged one is a *FormatError.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ood: %w", err)
	}
	f, err := decode(path, data)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, &FormatError{path, 1, "no header: the file is empty or was cut in its first line", true}
	}
	return f, nil
}

// decode reads a file; nil without an error means that not even the first line is whole.
func decode(path string, data []byte) (*File, error) {
	f := &File{Path: path, Torn: journal.Whole(data) < len(data)}
	rest := data[:journal.Whole(data)]
	if len(rest) == 0 {
		return nil, nil
	}
	number := 0
	next := func() []byte {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		rest, number = after, number+1
		return line
	}
	fail := func(err error) (*File, error) { return nil, &FormatError{path, number, err.Error(), false} }
	var err error
	if f.Header, err = decodeHeader(next()); err != nil {
		return fail(err)
	}
	h := &f.Header
	seen := map[int]bool{}
	f.committed = len(data[:journal.Whole(data)]) - len(rest)
	for len(rest) > 0 && !bytes.HasPrefix(rest, []byte("claims ")) {
		l, err := h.parse(next())
		if err != nil {
			return fail(err)
		}
		if seen[l.Image] {
			return fail(fmt.Errorf("image %d comes a second time", l.Image))
		}
		seen[l.Image] = true
		f.Lines = append(f.Lines, l)
		f.committed = journal.Whole(data) - len(rest)
	}
	from, to := h.Shard.Range(h.Data.Images)
	if len(f.Lines) > to-from {
		return fail(fmt.Errorf("%d images, the header has %d", len(f.Lines), to-from))
	}
	if len(rest) == 0 {
		return f, nil
	}
	claims := h.Claim(f.Lines)
	before := journal.Whole(data) - len(rest)
	if len(f.Lines) < to-from {
		number++
		return fail(fmt.Errorf("claims behind %d images, the header has %d", len(f.Lines), to-from))
	}
	for want := range bytes.Lines(h.text(claims)) {
		if len(rest) == 0 { // a power cut tore the claims
			f.Torn = true
			return f, nil
		}
		if line := next(); !bytes.Equal(line, bytes.TrimSuffix(want, []byte{'\n'})) {
			return fail(fmt.Errorf("%s: from the lines above follows %s", journal.Quote(line),
				journal.Quote(bytes.TrimSuffix(want, []byte{'\n'}))))
		}
	}
	if len(rest) == 0 {
		f.Torn = true
		return f, nil
	}
	hash := sha256.New()
	hash.Write(data[:before])
	hash.Write(h.text(claims))
	want, digest := journal.Digest(hash)
	if line := next(); !bytes.Equal(line, bytes.TrimSuffix(want, []byte{'\n'})) {
		return fail(fmt.Errorf("the digest is %s, but the lines before it have %s: the file was altered or damaged",
			journal.Quote(line), journal.Quote(want)))
	}
	if len(rest) > 0 || f.Torn {
		number++
		return fail(fmt.Errorf("bytes behind the digest, which is the last line"))
	}
	f.Claims, f.Digest, f.committed = &claims, digest, len(data)
	return f, nil
}
