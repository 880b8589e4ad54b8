package pipe

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

// gradientProgram serves a model of one pixel whose probability of class c is (c + 1)·x/4, and its gradient.
func gradientProgram(t *testing.T, hello string, slope float32) *Model {
	t.Helper()
	theirs, requests, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer ours.Close()
		defer theirs.Close()
		text := `{"height":1,"width":1,"channels":1,"layout":"hwc","dtype":"int16","classes":2,"output":"classes",` +
			hello + `"weights":"mine"}`
		head := binary.LittleEndian.AppendUint32([]byte("certspec"), 1)
		ours.Write(append(binary.LittleEndian.AppendUint32(head, uint32(len(text))), text...))
		request := make([]byte, 16)
		for {
			if _, err := io.ReadFull(theirs, request); err != nil {
				return
			}
			n := int(binary.LittleEndian.Uint32(request[8:]))
			content := make([]byte, binary.LittleEndian.Uint32(request[12:]))
			io.ReadFull(theirs, content)
			answer := append([]byte(nil), request...)
			for i := range n {
				x := math.Float32frombits(binary.LittleEndian.Uint32(content[4*i:]))
				k := slope * float32(1+binary.LittleEndian.Uint32(content[4*(n+i):]))
				answer = binary.LittleEndian.AppendUint32(answer, math.Float32bits(k*x))
				answer = binary.LittleEndian.AppendUint32(answer, math.Float32bits(k))
			}
			binary.LittleEndian.PutUint32(answer[12:], uint32(8*n))
			if request[7] != 0x80 {
				return // no request for gradients
			}
			ours.Write(answer)
		}
	}()
	m, err := Inherited(requests, answers, Options{Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestGradients(t *testing.T) {
	points, classes := [][]float64{{0.5}, {-0.25}, {1}}, []int32{0, 0, 1}
	m := gradientProgram(t, `"gradients":true,`, 0.25)
	for range 2 {
		p, g, err := m.ConfidenceGradients(t.Context(), points[:1], classes[:1])
		if err != nil || len(p) != 1 || p[0] != 0.125 || g[0][0] != 0.25 {
			t.Fatalf("%v %v, %v", p, g, err)
		}
	}
	p, g, err := m.ConfidenceGradients(t.Context(), [][]float64{{0.5}, {1}}, []int32{0, 1})
	if err != nil || p[1] != 0.5 || g[1][0] != 0.5 {
		t.Errorf("%v %v, %v", p, g, err)
	}
	if _, _, err := m.ConfidenceGradients(t.Context(), [][]float64{{0.5, 1}}, []int32{0}); err == nil {
		t.Error("a point of two values is taken")
	}
	if _, _, err := m.ConfidenceGradients(t.Context(), points, classes); err == nil || !strings.Contains(err.Error(), "probability") {
		t.Errorf("a negative probability: %v", err)
	}
	_, _, err = gradientProgram(t, "", 0.25).ConfidenceGradients(t.Context(), points[:1], classes[:1])
	if err == nil || !strings.Contains(err.Error(), "gives no gradients") {
		t.Errorf("without the word in the hello: %v", err)
	}
	_, _, err = gradientProgram(t, `"gradients":true,`, float32(math.NaN())).ConfidenceGradients(t.Context(), points[:1], classes[:1])
	if err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a gradient that is not finite: %v", err)
	}
}
