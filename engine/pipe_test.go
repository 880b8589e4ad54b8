package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/pipe"
)

// childVariable names the model file that this test binary serves when it is the program behind a pipe.
const childVariable = "CERTSPEC_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := serve(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openPipe(t *testing.T, path string) classifier.Classifier {
	t.Helper()
	t.Setenv(childVariable, path)
	m, err := pipe.Open([]string{os.Args[0]}, pipe.Options{Stderr: new(bytes.Buffer)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// serve answers with the probabilities that a model has on the Go backend, as engine/pipe/PROTOCOL.md has it. A Miss is a row of NaN.
func serve(path string) error {
	m, err := engine.Open(path, engine.Backend("go"))
	if err != nil {
		return err
	}
	info, err := m.Info()
	if err != nil {
		return err
	}
	hello, err := json.Marshal(map[string]any{
		"name": info.Name, "height": info.Shape.Height, "width": info.Shape.Width, "channels": info.Shape.Channels, "classes": info.Classes,
		"layout": "hwc", "dtype": "float32", "output": "probabilities", "weights": info.Identity.Weights,
	})
	if err != nil {
		return err
	}
	first := binary.LittleEndian.AppendUint32([]byte("certspec"), 1)
	os.Stdout.Write(append(binary.LittleEndian.AppendUint32(first, uint32(len(hello))), hello...))
	for {
		var head [16]byte
		if _, err := io.ReadFull(os.Stdin, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(head[8:]))
		batch := classifier.Batch{N: n, Real: make([]float32, n*info.Shape.Len())}
		if err := binary.Read(os.Stdin, binary.LittleEndian, batch.Real); err != nil {
			return err
		}
		result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*info.Classes)}
		if err := m.Classify(context.Background(), batch, &result); err != nil {
			return err
		}
		for i, class := range result.Classes {
			if class == classifier.Miss {
				result.Scores[i*info.Classes] = float32(math.NaN())
			}
		}
		binary.LittleEndian.PutUint32(head[12:], uint32(4*len(result.Scores)))
		answer, err := binary.Append(head[:], binary.LittleEndian, result.Scores)
		if err != nil {
			return err
		}
		os.Stdout.Write(answer)
	}
}
