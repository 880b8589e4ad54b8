package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/testkit"
)

// A small file whose numbers are at the ends of their types is refused or read, and never makes its reader panic or
// allocate what only a large file may: the readers of every kind of file, through the verbs that open them.
func TestNumbersOfFilesAtTheirEnds(t *testing.T) {
	dir := t.TempDir()
	var images, labels, archive bytes.Buffer
	for _, w := range []struct {
		to   *bytes.Buffer
		kind string
		dims []int
		size int
	}{{&images, "|u1", []int{2, 4, 4, 3}, 96}, {&labels, "|u1", []int{2}, 2}} {
		if err := npy.WriteHeader(w.to, w.kind, w.dims...); err != nil {
			t.Fatal(err)
		}
		w.to.Write(make([]byte, w.size))
	}
	z := zip.NewWriter(&archive)
	entry, err := z.Create("fc.weight.npy")
	if err != nil {
		t.Fatal(err)
	}
	entry.Write(images.Bytes())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := `{"fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`
	weights := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	ledger := testkit.Read(t, oldLedger)
	ood := testkit.Read(t, "../../notebooks/results/ood/fmnist-plain-uniform-02-adv.ood")
	network := testkit.Read(t, onnxFile(t))
	at := func(name string) string { return filepath.Join(dir, name) }
	testkit.Write(t, labels.Bytes(), at("labels.npy"))
	random := rand.New(rand.NewPCG(5, 5))
	imported := strings.Fields("import --net small-cnn --size 28x28x1 --sigma 0.25 --out " + at("out") + " --weights")
	for _, kind := range []struct {
		name string
		data []byte
		verb []string
		says string // of the whole file, where it is refused
	}{
		{"images.npy", images.Bytes(), []string{"dataset", "list", "npy:" + at("images.npy") + "," + at("labels.npy")}, ""},
		{"images.npy", images.Bytes(), []string{"spectral", "spectrum", "--in", at("images.npy")}, ""},
		{"w.npz", archive.Bytes(), append(imported, at("w.npz")), "fc.weight"},
		{"w.safetensors", append(weights, make([]byte, 24)...), append(imported, at("w.safetensors")), "conv1.weight"},
		{"x.ledger", ledger, []string{"ledger", "verify", at("x.ledger")}, ""},
		{"x.ledger", ledger, []string{"ledger", "query", at("x.ledger")}, ""},
		{"x.ood", ood, []string{"ledger", "verify", at("x.ood")}, ""},
		{"x.tsv", []byte(publishedLog), []string{"ledger", "metrics", at("x.tsv")}, ""},
		{"x.csv", []byte("correct,confidence\n1,0.75\n0,0.5\n"), []string{"calib", "metrics", "--in", at("x.csv")}, ""},
		{"net.onnx", network, strings.Fields("ood bound --data noise:uniform,32x32x3[count=1] --eps 0.01 --method ibp --uncompared --model " +
			at("net.onnx") + " --out " + at("made.ood")), ""},
	} {
		testkit.Write(t, kind.data, at(kind.name))
		if _, err := commandOutput(t, root(), kind.verb...); err != nil && (kind.says == "" || !strings.Contains(err.Error(), kind.says)) {
			t.Errorf("%q of a whole file: %v", kind.verb, err)
		}
		tries := 100
		if testing.Short() {
			tries = 25
		}
		for range tries {
			data := atItsEnds(random, kind.data)
			testkit.Write(t, data, at(kind.name))
			os.Remove(at("made.ood"))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s of %s: panic: %v", kind.verb[:2], kind.name, r)
					}
				}()
				output(t, kind.verb...)
			}()
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 1<<28 {
				t.Errorf("%s allocates %d MiB for %s of %d bytes: %q", strings.Join(kind.verb[:2], " "), got>>20, kind.name,
					len(data), data[:min(len(data), 400)])
			}
			if t.Failed() {
				break
			}
		}
	}
}

var decimals = regexp.MustCompile(`[0-9]+`)

// atItsEnds sets a number of a file to an end of its type: one in decimals, or some bytes in either order.
func atItsEnds(random *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	front := min(len(out), 400)
	if found := decimals.FindAllIndex(out[:front], -1); len(found) > 0 && random.IntN(2) == 0 {
		at := found[random.IntN(len(found))]
		ends := []string{"0", "-1", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
			"9223372036854775808", "18446744073709551615", "1000000000", "1e300", strconv.Itoa(1 << 40)}
		return fmt.Appendf(nil, "%s%s%s", out[:at[0]], ends[random.IntN(len(ends))], out[at[1]:])
	}
	size := 1 << random.IntN(4)
	if len(out) < size {
		return out
	}
	from := random.IntN(min(len(out), 400) - size + 1)
	ends := []uint64{0, 1, 1<<(8*size-1) - 1, 1 << (8*size - 1), 1<<(8*size) - 1, 1 << (4 * size)}
	v := ends[random.IntN(len(ends))]
	order := random.IntN(2)
	for i := range size {
		at := from + i
		if order == 1 {
			at = from + size - 1 - i
		}
		out[at] = byte(v >> (8 * i))
	}
	return out
}
