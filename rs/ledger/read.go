package ledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// Read reads the ledger in a file. An unfinished or torn ledger is no error; a foreign, damaged or
// newer one is: a *FormatError or *VersionError.
func Read(path string) (*Ledger, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	l, err := decode(path, f)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, &FormatError{path, 1, "no header: the file is empty or was cut in its first line"}
	}
	return l, nil
}

// longestLine bounds what a foreign file can make the reader hold.
const longestLine = 1 << 18

// reader walks over the lines of a file and hashes them.
type reader struct {
	file   string
	in     *bufio.Reader
	hash   hash.Hash
	line   int          // number of the last line read
	length int64        // bytes up to its end
	tail   int          // bytes behind the last newline, known at the end
	seen   map[int]bool // images
}

// decode reads a ledger; nil without an error means that not even the first line is whole.
func decode(file string, in io.Reader) (*Ledger, error) {
	r := &reader{file: file, in: bufio.NewReaderSize(in, longestLine), hash: sha256.New(), seen: map[int]bool{}}
	line, err := r.next()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &Ledger{}
	if l.Header, err = decodeHeader(file, line); err != nil {
		return nil, err
	}
	r.hash.Write(line)
	r.hash.Write(newline)
	l.committed = r.length
	var arena []Count
	for {
		line, err = r.next()
		if err == io.EOF {
			l.Torn = r.torn()
			return l, nil
		}
		if err != nil {
			return nil, err
		}
		if cap(arena)-len(arena) < min(l.Header.Model.Classes, longestLine/len(" 0:1")) {
			arena = make([]Count, 0, 1<<16) // a new chunk: the old one stays with its looks
		}
		switch {
		case len(line) > 0 && line[0] == '~':
			var look Look
			if look, arena, err = parseLook(line[1:], &l.Header, arena); err != nil {
				return nil, r.errorf("provisional: %v", err)
			}
			l.Provisional = append(l.Provisional, look)
			continue // is no part of what stays
		case len(l.Provisional) > 0:
			return nil, r.errorf("%s behind a provisional line", quote(line))
		case bytes.HasPrefix(line, []byte("claims ")):
			return l, r.claims(l, line)
		}
		var look Look
		if look, arena, err = parseLook(line, &l.Header, arena); err != nil {
			return nil, r.errorf("%v", err)
		}
		if err := r.follows(l.Looks, look); err != nil {
			return nil, r.errorf("%v", err)
		}
		l.Looks = append(l.Looks, look)
		r.hash.Write(line)
		r.hash.Write(newline)
		l.committed = r.length
	}
}

var newline = []byte{'\n'}

// follows checks that a look continues its image or begins a new one.
func (r *reader) follows(before []Look, look Look) error {
	if n := len(before); n > 0 && before[n-1].Image == look.Image {
		last := before[n-1]
		if look.From != last.To || look.Label != last.Label {
			return fmt.Errorf("image %d goes on at block %d with label %d, want block %d and label %d",
				look.Image, look.From, look.Label, last.To, last.Label)
		}
		return nil
	}
	if look.From != 0 {
		return fmt.Errorf("image %d begins at block %d, want 0", look.Image, look.From)
	}
	if r.seen[look.Image] {
		return fmt.Errorf("image %d comes a second time", look.Image)
	}
	r.seen[look.Image] = true
	return nil
}

// claims reads from the line that closes the ledger to its end.
func (r *reader) claims(l *Ledger, line []byte) error {
	images, n := parseInt(line[len("claims "):])
	if n == 0 || n != len(line)-len("claims ") || images != len(r.seen) {
		return r.errorf("%s: want claims and the number of images, which is %d", quote(line), len(r.seen))
	}
	c := &Claims{Images: make([]Claim, 0, images)}
	keep := func() {
		r.hash.Write(line)
		r.hash.Write(newline)
	}
	keep()
	next := 0 // look at which the image of the next claim begins
	for len(c.Images) < images {
		var err error
		if line, err = r.next(); err == io.EOF {
			// The claims are a function of the looks: those cut off are written again.
			l.Torn = true
			return nil
		} else if err != nil {
			return err
		}
		claim, err := parseClaim(line, &l.Header)
		if err != nil {
			return r.errorf("%v", err)
		}
		if want := l.Looks[next].Image; claim.Image != want {
			return r.errorf("claim on image %d, want image %d", claim.Image, want)
		}
		for next < len(l.Looks) && l.Looks[next].Image == claim.Image {
			next++
		}
		c.Images = append(c.Images, claim)
		keep()
	}
	for {
		var err error
		if line, err = r.next(); err == io.EOF {
			l.Torn = true
			return nil
		} else if err != nil {
			return err
		}
		fields := bytes.Split(line, []byte{' '})
		switch {
		case len(fields) == 3 && string(fields[0]) == "acr" && c.ACR == "":
			labelled, n := parseInt(fields[2])
			if n != len(fields[2]) || n == 0 || labelled < 1 || labelled > images || !isDecimal(string(fields[1])) {
				return r.errorf("%s: want acr, its value and the number of labelled images", quote(line))
			}
			c.ACR, c.Labelled = string(fields[1]), labelled
		case len(fields) == 4 && string(fields[0]) == "certified" && c.ACR != "":
			count, n := parseInt(fields[2])
			labelled, m := parseInt(fields[3])
			if n == 0 || n != len(fields[2]) || m == 0 || m != len(fields[3]) || labelled != c.Labelled ||
				count > labelled || !isDecimal(string(fields[1])) {
				return r.errorf("%s: want certified, a radius, a count and the number of labelled images", quote(line))
			}
			c.Certified = append(c.Certified, Certified{string(fields[1]), count})
		case len(fields) == 2 && string(fields[0]) == "sha256":
			want := hex.EncodeToString(r.hash.Sum(nil))
			if string(fields[1]) != want {
				return r.errorf("the digest is %s, but the lines before it have %s: the file was altered or damaged", quote(fields[1]), want)
			}
			l.Claims, l.Digest = c, "sha256:"+want
			l.committed = r.length
			if _, err := r.next(); err == nil {
				return r.errorf("%s", "a line behind the digest, which is the last")
			} else if err != io.EOF {
				return err
			}
			l.Torn = r.torn()
			return nil
		default:
			return r.errorf("%s: want acr, certified or sha256", quote(line))
		}
		keep()
	}
}

// next is the next whole line without its newline, valid until the following call; io.EOF where there is none.
func (r *reader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	switch {
	case err == nil:
		r.line++
		r.length += int64(len(line))
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		r.line++
		return nil, r.errorf("longer than %d bytes", longestLine)
	case err == io.EOF:
		r.tail = len(line)
		return nil, io.EOF
	default:
		return nil, fmt.Errorf("ledger %s: %w", r.file, err)
	}
}

// torn reports whether bytes stood behind the last newline.
func (r *reader) torn() bool { return r.tail > 0 }

func (r *reader) errorf(format string, args ...any) error {
	return &FormatError{r.file, r.line, fmt.Sprintf(format, args...)}
}
