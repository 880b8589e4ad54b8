// Package textfile reads files that people write: editors of some systems begin them with a byte
// order mark, which is no part of the text. Files that programs seal with a digest are not read by
// it, as all their bytes count.
package textfile

import (
	"bufio"
	"bytes"
	"io"
	"os"
)

const mark = "\ufeff"

// Read reads a file without its mark.
func Read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return Cut(text), err
}

// Cut is a text without its mark.
func Cut(text []byte) []byte { return bytes.TrimPrefix(text, []byte(mark)) }

// NewReader reads what r does, without the mark in front.
func NewReader(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, 1<<16)
	if first, err := in.Peek(len(mark)); err == nil && string(first) == mark {
		in.Discard(len(mark))
	}
	return in
}
