// Package textfile reads files that people write: editors of some systems begin them with a byte
// order mark, which is no part of the text. Files that programs seal with a digest are not read by
// it, as all their bytes count.
package textfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
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

// NewCSV reads records whose columns are parted by commas, or where the first line has none, by its semicolons or tabs.
func NewCSV(r io.Reader) *csv.Reader {
	in := NewReader(r)
	out := csv.NewReader(in)
	begin, _ := in.Peek(1 << 12) // an error comes again with the first record
	header, _, _ := bytes.Cut(begin, []byte("\n"))
	for _, comma := range []rune{';', '\t'} {
		if !bytes.ContainsRune(header, ',') && bytes.ContainsRune(header, comma) {
			out.Comma = comma
		}
	}
	return out
}
