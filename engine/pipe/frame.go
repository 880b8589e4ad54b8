package pipe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/certspec/certspec/pixel"
)

// protocolVersion is the version of the protocol.
const protocolVersion = 1

// Values of the fields of a hello.
const (
	layoutHWC = "hwc" // height, width, channel
	layoutCHW = "chw" // channel, height, width

	typeInt16   = "int16"   // multiples of 1/255
	typeFloat32 = "float32" // the full range is 0 to 1

	outputClasses       = "classes"       // int32 per image, −1 for a miss
	outputLogits        = "logits"        // float32 per image and class
	outputProbabilities = "probabilities" // float32 per image and class
)

const (
	magic      = "certspec"
	frameHead  = 16      // bytes before the content of a frame
	helloLimit = 1 << 20 // bytes of a hello's JSON

	longestPreprocessing = 1000
)

type hello struct {
	Name     string `json:"name"`
	Height   int    `json:"height"`
	Width    int    `json:"width"`
	Channels int    `json:"channels"`
	Layout   string `json:"layout"`
	Type     string `json:"dtype"`
	Classes  int    `json:"classes"`
	Output   string `json:"output"`
	Weights  string `json:"weights"`

	Ahead         bool   `json:"ahead"`         // it reads a request before it has answered the last
	Gradients     bool   `json:"gradients"`     // it answers questions for gradients, too
	Preprocessing string `json:"preprocessing"` // of the images that it gets, in its own words; may be empty

	ClassNames []string `json:"class_names"` // nil: it does not say
}

func (h *hello) shape() pixel.Shape {
	return pixel.Shape{Height: h.Height, Width: h.Width, Channels: h.Channels}
}

// answerSize is the number of bytes of an answer for n images.
func (h *hello) answerSize(n int) int {
	if h.Output == outputClasses {
		return 4 * n
	}
	return 4 * n * h.Classes
}

func (h *hello) check() error {
	const most = 1 << 16
	oneOf := func(field, value string, allowed ...string) error {
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return fmt.Errorf("its hello has the %s %q; expected one of %q", field, value, allowed)
	}
	switch s := h.shape(); {
	case !s.Valid() || s.Height > most || s.Width > most || s.Channels > most || s.Len() > math.MaxInt32:
		return fmt.Errorf("its hello has height, width and channels %d, %d and %d; expected positive numbers", h.Height,
			h.Width, h.Channels)
	case h.Classes < 1 || h.Classes > 1<<24:
		return fmt.Errorf("its hello has %d classes; expected at least 1", h.Classes)
	case len(h.Preprocessing) > longestPreprocessing || strings.ContainsFunc(h.Preprocessing, unicode.IsControl):
		return fmt.Errorf("its hello has the preprocessing %.200q; expected one line of at most %d bytes",
			h.Preprocessing, longestPreprocessing)
	case len(h.ClassNames) != 0 && len(h.ClassNames) != h.Classes:
		return fmt.Errorf("its hello has %d class names for %d classes", len(h.ClassNames), h.Classes)
	}
	return errors.Join(
		oneOf("layout", h.Layout, layoutHWC, layoutCHW),
		oneOf("dtype", h.Type, typeInt16, typeFloat32),
		oneOf("output", h.Output, outputClasses, outputLogits, outputProbabilities))
}

// readHello reads the first bytes of a program. It fails at the first byte that cannot belong to a hello.
func readHello(r *bufio.Reader) (hello, error) {
	for i := range len(magic) {
		b, err := r.ReadByte()
		if err != nil {
			return hello{}, err
		}
		if b != magic[i] {
			rest, _ := r.Peek(min(r.Buffered(), 60))
			return hello{}, fmt.Errorf("its standard output begins with %q; expected a hello as PROTOCOL.md has it, "+
				"and what it prints on standard error only",
				magic[:i]+string(b)+string(rest))
		}
	}
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return hello{}, ended(err)
	}
	version, size := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if version != protocolVersion {
		return hello{}, fmt.Errorf("it speaks version %d of the protocol; expected %d", version, protocolVersion)
	}
	if size > helloLimit {
		return hello{}, fmt.Errorf("its hello has %d bytes; expected at most %d", size, helloLimit)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return hello{}, ended(err)
	}
	var h hello
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&h); err != nil {
		return hello{}, fmt.Errorf("its hello %.200q: %w", text, err)
	}
	if decoder.More() {
		return hello{}, fmt.Errorf("its hello %.200q goes on behind the object", text)
	}
	return h, h.check()
}

// writeRequest writes a frame with n images.
func writeRequest(w io.Writer, id uint64, n int, content []byte) error {
	var head [frameHead]byte
	binary.LittleEndian.PutUint64(head[:], id)
	binary.LittleEndian.PutUint32(head[8:], uint32(n))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(content)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// readAnswer reads the content of the answer to request id into content.
func readAnswer(r *bufio.Reader, id uint64, n int, content []byte) error {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return ended(err)
	}
	gotID, gotN, size := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint32(head[8:]),
		binary.LittleEndian.Uint32(head[12:])
	switch {
	case gotID != id:
		rest, _ := r.Peek(min(r.Buffered(), 60))
		return fmt.Errorf("it answers request %d; expected %d (the bytes are %q; what a program prints belongs on "+
			"standard error)",
			gotID, id, string(head[:])+string(rest))
	case int64(gotN) != int64(n):
		return fmt.Errorf("it answers %d images; the batch has %d", gotN, n)
	case int64(size) != int64(len(content)):
		return fmt.Errorf("it answers %d images with %d bytes; expected %d", n, size, len(content))
	}
	if _, err := io.ReadFull(r, content); err != nil {
		return ended(err)
	}
	return nil
}

// ended makes the end of the output within a frame the end of the output.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}
