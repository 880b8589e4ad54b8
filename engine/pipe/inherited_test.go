package pipe

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
)

// caller serves a model of 2×1 pixels over pipes: the class is the brighter pixel's. It stops after so many batches.
func caller(t *testing.T, weights string, batches int, more ...string) (requests, answers *os.File) {
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
		text := `{"height":2,"width":1,"channels":1,"layout":"hwc","dtype":"int16","classes":2,"output":"classes","name":"caller","weights":"` + weights + `"` + strings.Join(more, "") + `}`
		hello := binary.LittleEndian.AppendUint32([]byte("certspec"), 1)
		hello = append(binary.LittleEndian.AppendUint32(hello, uint32(len(text))), text...)
		ours.Write(hello)
		for range batches {
			head := make([]byte, 16)
			if _, err := io.ReadFull(theirs, head); err != nil {
				return
			}
			n := int(binary.LittleEndian.Uint32(head[8:]))
			pixels := make([]byte, 4*n)
			io.ReadFull(theirs, pixels)
			binary.LittleEndian.PutUint32(head[12:], uint32(4*n))
			for i := range n {
				first, second := int16(binary.LittleEndian.Uint16(pixels[4*i:])), int16(binary.LittleEndian.Uint16(pixels[4*i+2:]))
				class := uint32(0)
				if second > first {
					class = 1
				}
				head = binary.LittleEndian.AppendUint32(head, class)
			}
			ours.Write(head)
		}
	}()
	return requests, answers
}

// What the program calls its classes is told, and must be a name for each.
func TestClassNames(t *testing.T) {
	for names, want := range map[string]int{`,"class_names":["dark","light"]`: 2, ``: 0, `,"class_names":["dark"]`: -1} {
		requests, answers := caller(t, "w", 0, names)
		m, err := Inherited(requests, answers, Options{Stderr: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.ClassNames()
		if (err != nil) != (want < 0) || err == nil && len(got) != want {
			t.Errorf("%q: %q, %v", names, got, err)
		}
	}
}

// A program that says so has the next request before it answers, and answers keep their order.
func TestAhead(t *testing.T) {
	theirs, requests, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 20
	go func() {
		defer ours.Close()
		defer theirs.Close()
		text := `{"height":1,"width":1,"channels":1,"layout":"hwc","dtype":"int16","classes":256,"output":"classes","ahead":true,"weights":"mine"}`
		hello := binary.LittleEndian.AppendUint32([]byte("certspec"), 1)
		ours.Write(append(binary.LittleEndian.AppendUint32(hello, uint32(len(text))), text...))
		var held [][]byte
		for range rounds {
			request := make([]byte, 18) // of one pixel
			if _, err := io.ReadFull(theirs, request); err != nil {
				return
			}
			if held = append(held, request); len(held) < 2 {
				continue
			}
			ours.Write(answerOf(held[0]))
			held = held[1:]
		}
		ours.Write(answerOf(held[0]))
	}()
	m, err := Inherited(requests, answers, Options{Stderr: io.Discard, BatchTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Info(); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 2)
	for worker := range 2 {
		go func() {
			for i := range rounds / 2 {
				result := classifier.Result{Classes: make([]int32, 1)}
				pixel := int16(2*i + worker)
				err := m.Classify(t.Context(), classifier.Batch{N: 1, Grid: []int16{pixel}}, &result)
				if err == nil && result.Classes[0] != int32(pixel) {
					err = fmt.Errorf("class %d of pixel %d", result.Classes[0], pixel)
				}
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

// answerOf is the answer to a request of one pixel, whose class is its value.
func answerOf(request []byte) []byte {
	answer := binary.LittleEndian.AppendUint32(append([]byte(nil), request[:12]...), 4)
	return binary.LittleEndian.AppendUint32(answer, uint32(binary.LittleEndian.Uint16(request[16:])))
}

func TestInherited(t *testing.T) {
	model := func(weights string, batches int, options Options) *Model {
		requests, answers := caller(t, weights, batches)
		options.Stderr = io.Discard
		m, err := Inherited(requests, answers, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	m := model("sha256:abc", 2, Options{})
	info, err := m.Info()
	if err != nil || info.Name != "caller" || info.Identity.Weights != "sha256:abc" || info.Identity.Engine != "pipe" {
		t.Fatalf("%+v, %v", info, err)
	}
	batch := classifier.Batch{N: 2, Grid: []int16{3, 200, 9, -4}}
	result := classifier.Result{Classes: make([]int32, 2)}
	for range 2 {
		if err := m.Classify(t.Context(), batch, &result); err != nil || result.Classes[0] != 1 || result.Classes[1] != 0 {
			t.Fatalf("classes %v, %v", result.Classes, err)
		}
	}
	// It has ended, and is not started again.
	for range 2 {
		if err := m.Classify(t.Context(), batch, &result); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("after the end: %v", err)
		}
	}

	// Without an identity, no two runs have the same.
	first, err := model("", 1, Options{}).Info()
	if err != nil {
		t.Fatal(err)
	}
	second, err := model("", 1, Options{}).Info()
	if err != nil || first.Identity.Weights == second.Identity.Weights || !strings.HasPrefix(first.Identity.Weights, "none stated") {
		t.Errorf("%q and %q, %v", first.Identity.Weights, second.Identity.Weights, err)
	}
}

// A program that does not answer: the time-out and the context end the wait.
func TestInheritedSilence(t *testing.T) {
	silent := func(options Options) *Model {
		_, requests, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		answers, ours, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ours.Close() })
		options.Stderr = io.Discard
		m, err := Inherited(requests, answers, options)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if _, err := silent(Options{StartTimeout: 10 * time.Millisecond}).Info(); err == nil || !strings.Contains(err.Error(), "says no hello within 10ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := silent(Options{}).Classify(ctx, classifier.Batch{}, &classifier.Result{}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
