package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/linefile"
)

// Merge joins the files of all shards of a run into the file that the run without shards has, byte for byte. The files are closed; a
// file that exists stays as it is, and is an error unless it has the same bytes.
func Merge(ctx context.Context, out string, paths []string) (*File, error) {
	var parts []*File
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f, err := Read(path)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Claims == nil:
			return nil, fmt.Errorf("ood: %s is not finished: run its command again", path)
		case f.Header.Shard == nil:
			return nil, fmt.Errorf("ood: %s is no shard", path)
		}
		parts = append(parts, f)
	}
	if len(parts) == 0 {
		return nil, errors.New("ood: no files to merge")
	}
	slices.SortStableFunc(parts, func(a, b *File) int { return a.Header.Shard.Index - b.Header.Shard.Index })
	whole := &File{Path: out, Header: parts[0].Header}
	for i, p := range parts {
		other := p.Header
		other.Shard = &Shard{i, len(parts)}
		if p.Header.Shard.Count != len(parts) || p.Header.Shard.Index != i {
			return nil, fmt.Errorf("ood: %s is shard %d of %d, want %d of %d: each shard once", p.Path, p.Header.Shard.Index, p.Header.Shard.Count, i, len(parts))
		}
		first := whole.Header
		first.Shard = other.Shard
		if err := first.SameRun(parts[0].Path, other); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Path, err)
		}
		whole.Lines = append(whole.Lines, p.Lines...)
	}
	whole.Header.Shard = nil
	data, err := whole.encode()
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Create(out, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	}); err != nil {
		return nil, fmt.Errorf("ood: %w", err)
	}
	return whole, nil
}

// encode is a whole, closed file; it sets claims and digest.
func (f *File) encode() ([]byte, error) {
	head, err := f.Header.encode()
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(head)
	for _, l := range f.Lines {
		out.Write(f.Header.append(nil, l))
	}
	claims := f.Header.Claim(f.Lines)
	out.Write(f.Header.text(claims))
	hash := sha256.New()
	hash.Write(out.Bytes())
	line, digest := linefile.Digest(hash)
	out.Write(line)
	f.Claims, f.Digest, f.committed = &claims, digest, out.Len()
	return out.Bytes(), nil
}
