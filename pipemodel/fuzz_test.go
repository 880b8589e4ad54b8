package pipemodel

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

func frame(head string, a, b uint32, content string) []byte {
	f := binary.LittleEndian.AppendUint32([]byte(head), a)
	return append(binary.LittleEndian.AppendUint32(f, b), content...)
}

const goodHello = `{"name":"a","height":2,"width":3,"channels":1,"layout":"chw","dtype":"int16","classes":2,"output":"classes"}`

// A stream that is read without an error is, byte for byte, the frames that its values make.
func FuzzFrames(f *testing.F) {
	hello := frame(magic, Version, uint32(len(goodHello)), goodHello)
	answer := frame("\x01\x00\x00\x00\x00\x00\x00\x00", 2, 8, "\x01\x00\x00\x00\xff\xff\xff\xff")
	f.Add(append(bytes.Clone(hello), answer...))
	f.Add(hello[:len(hello)-1])
	f.Add(answer)
	f.Add(frame(magic, 2, 0, ""))
	f.Add(frame(magic, Version, 1<<31, "{"))
	f.Add([]byte("Epoch 1\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
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
