package pipe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

func frame(head string, a, b uint32, content string) []byte {
	f := binary.LittleEndian.AppendUint32([]byte(head), a)
	return append(binary.LittleEndian.AppendUint32(f, b), content...)
}

const goodHello = `{"name":"a","height":2,"width":3,"channels":1,"layout":"chw","dtype":"int16","classes":2,"output":"classes"}`

// A stream that is read without an error is, byte for byte, the frames that its values make.
func FuzzFrames(f *testing.F) {
	hello := frame(magic, protocolVersion, uint32(len(goodHello)), goodHello)
	answer := frame("\x01\x00\x00\x00\x00\x00\x00\x00", 2, 8, "\x01\x00\x00\x00\xff\xff\xff\xff")
	bases := [][]byte{append(bytes.Clone(hello), answer...), answer, nil}
	for which := range bases {
		f.Add(uint8(which), uint16(0), uint8(0), []byte{})
	}
	f.Add(uint8(0), uint16(len(hello)-1), uint8(255), []byte{})
	f.Add(uint8(2), uint16(0), uint8(0), frame(magic, 2, 0, ""))
	f.Add(uint8(2), uint16(0), uint8(0), frame(magic, protocolVersion, 1<<31, "{"))
	f.Add(uint8(2), uint16(0), uint8(0), []byte("Epoch 1\n"))
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte) {
		data := testkit.Edit(bases[int(which)%len(bases)], at, cut, put)
		r := bufio.NewReader(bytes.NewReader(data))
		h, err := readHello(r)
		if err != nil {
			return
		}
		if h.check() != nil || h.shape().Len() < 1 || h.answerSize(2) < 8 {
			t.Fatalf("hello %+v passes", h)
		}
		if h.answerSize(2) > 1<<20 {
			return
		}
		content := make([]byte, h.answerSize(2))
		if readAnswer(r, 1, 2, content) != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		size := binary.LittleEndian.Uint32(data[12:])
		want := frame("\x01\x00\x00\x00\x00\x00\x00\x00", 2, uint32(len(content)), string(content))
		if got := data[16+size : len(data)-len(rest)]; !bytes.Equal(got, want) {
			t.Fatalf("read %q as %q", got, want)
		}
	})
}
