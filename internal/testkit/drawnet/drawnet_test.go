package drawnet

import (
	"bytes"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

// The choices that were made draw the same network again, and a file keeps it.
func TestNetworksAreDrawnAgain(t *testing.T) {
	for seed := range uint64(300) {
		c := FromSeed(seed)
		net := Draw(c)
		first := onnxfile.Encode(net.Model)
		if again := onnxfile.Encode(Draw(FromBytes(c.Made())).Model); !bytes.Equal(first, again) {
			t.Fatalf("seed %d: another network from the choices", seed)
		}
		data, err := net.Encode()
		if err != nil {
			t.Fatal(err)
		}
		read, err := Decode(data)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if again, err := read.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("seed %d: another network from the file: %v", seed, err)
		}
		if !slices.Equal(read.Lower, net.Lower) || !slices.Equal(read.Input, net.Input) || read.Type != net.Type ||
			read.OpenBatch != net.OpenBatch {
			t.Fatalf("seed %d: input or box is another", seed)
		}
	}
}

// A few thousand networks have every operator with every attribute and every value of a switch.
func TestEverythingIsDrawn(t *testing.T) {
	const networks = 12000
	seen := map[string]int{}
	opsets := map[int64]bool{}
	for seed := range uint64(networks) {
		net := Draw(FromSeed(seed))
		opsets[net.Model.Opsets[0].Version] = true
		used := net.Used()
		slices.Sort(used)
		for _, what := range slices.Compact(used) {
			seen[what]++
		}
	}
	for _, what := range Wanted() {
		if seen[what] < 3 {
			t.Errorf("%s: in %d of %d networks", what, seen[what], networks)
		}
		delete(seen, what)
	}
	for what := range seen {
		t.Errorf("%s is drawn, and the table of operators does not have it", what)
	}
	for v := int64(7); v <= 25; v++ {
		if !opsets[v] {
			t.Errorf("no network of opset %d", v)
		}
	}
}

// Shrinking keeps what fails and leaves out the rest.
func TestShrink(t *testing.T) {
	fails := func(choices []byte) bool {
		return slices.Contains(Draw(FromBytes(choices)).Used(), "LogSoftmax")
	}
	for seed := uint64(0); ; seed++ {
		c := FromSeed(seed)
		net := Draw(c)
		if !fails(c.Made()) || len(net.Model.Graph.Nodes) < 12 {
			continue
		}
		small := Draw(FromBytes(Shrink(c.Made(), 1000, fails)))
		if !slices.Contains(small.Used(), "LogSoftmax") || 2*len(small.Model.Graph.Nodes) > len(net.Model.Graph.Nodes) {
			t.Errorf("seed %d: %d nodes, shrunk to\n%s", seed, len(net.Model.Graph.Nodes), small)
		}
		return
	}
}
