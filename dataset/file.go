package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/certspec/certspec/internal/inflate"
)

// openPlain opens a file that may be gzipped; its first bytes decide, not its name.
// Reads end with the context.
func openPlain(ctx context.Context, path string) (*inflate.Stream, io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	packed := int64(-1)
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		packed = info.Size()
	}
	r, err := inflate.NewStream(contextReader{ctx, file}, packed)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return r, file, nil
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
