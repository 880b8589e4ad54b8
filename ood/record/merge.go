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
	"github.com/certspec/certspec/internal/journal"
)

// Merge joins the files of all shards of a run into the file that the run without shards has, byte
// for byte. The files are closed; a file that exists stays as it is, and is an error unless it has
// the same bytes.
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
	if err := complete(parts); err != nil {
		return nil, err
	}
	whole := &File{Path: out, Header: parts[0].Header}
	for i, p := range parts {
		other := p.Header
		other.Shard = &Shard{i, len(parts)}
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

// complete makes sure that some shards, sorted by their numbers, are all of one run.
func complete(parts []*File) error {
	n := parts[0].Header.Shard.Count
	missing := func(i int) error {
		return fmt.Errorf("ood: shard %d of %d is missing; they count from 0: make it by "+
			"certspec ood bound, or attack, with --shard %d/%d, and name it, too", i, n, i, n)
	}
	for i, p := range parts {
		switch s := p.Header.Shard; {
		case s.Count != n:
			return fmt.Errorf("ood: %s is one of %d shards, %s of %d: name those of one run", parts[0].Path, n, p.Path,
				s.Count)
		case i > 0 && s.Index == parts[i-1].Header.Shard.Index:
			return fmt.Errorf("ood: %s and %s are both shard %d of %d: name each shard once", parts[i-1].Path, p.Path,
				s.Index, n)
		case s.Index != i:
			return missing(i)
		}
	}
	if len(parts) < n {
		return missing(len(parts))
	}
	return nil
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
	line, digest := journal.Digest(hash)
	out.Write(line)
	f.Claims, f.Digest, f.committed = &claims, digest, out.Len()
	return out.Bytes(), nil
}
