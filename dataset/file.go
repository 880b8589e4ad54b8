package dataset

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// openPlain opens a file that may be gzipped; its first bytes decide, not its name.
// Reads end with the context.
func openPlain(ctx context.Context, path string) (io.Reader, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r := bufio.NewReaderSize(contextReader{ctx, file}, 1<<16)
	if magic, _ := r.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return r, file, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("damaged gzip header: %w", err)
	}
	return z, file, nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// readExactly reads n bytes and makes sure that nothing follows. Memory grows with
// what is really there, so that a header that lies costs nothing.
func readExactly(r io.Reader, n int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(data)) < n {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("truncated: %d bytes of data; expected %d", len(data), n)
	}
	if err != nil {
		return nil, err
	}
	// The read at the end also makes gzip verify its checksum.
	switch extra, err := io.CopyN(io.Discard, r, 1); {
	case extra > 0:
		return nil, fmt.Errorf("data goes on after the %d bytes that were expected", n)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return data, nil
}

// walkTar visits the entries of a tar stream.
func walkTar(r io.Reader, visit func(*tar.Header, io.Reader) error) error {
	for archive := tar.NewReader(r); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("damaged tar archive: %w", err)
		}
		if err := visit(entry, archive); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
	// What follows the archive's end holds gzip's checksum.
	_, err := io.Copy(io.Discard, r)
	return err
}
