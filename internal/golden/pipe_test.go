package golden

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

const pipeVariable = "CERTSPEC_GOLDEN_PIPE"

// With the variable this test's program is a model over a pipe: ten classes, by the mean of an image's first twelve values. It
// computes with whole numbers, so that it answers alike on every machine.
func init() {
	if os.Getenv(pipeVariable) == "" {
		return
	}
	const hello = `{"name":"mean","height":32,"width":32,"channels":3,"layout":"hwc","dtype":"int16","classes":10,"output":"classes","weights":"sha256:mean"}`
	os.Stdout.WriteString("certspec")
	binary.Write(os.Stdout, binary.LittleEndian, []uint32{1, uint32(len(hello))})
	os.Stdout.WriteString(hello)
	for {
		var head struct {
			Request uint64
			N, Size uint32
		}
		if binary.Read(os.Stdin, binary.LittleEndian, &head) != nil {
			os.Exit(0)
		}
		values := make([]int16, head.Size/2)
		binary.Read(os.Stdin, binary.LittleEndian, values)
		head.Size = 4 * head.N
		var answer bytes.Buffer
		binary.Write(&answer, binary.LittleEndian, head)
		for i := range int(head.N) {
			sum := 0
			for _, v := range values[i*32*32*3:][:12] {
				sum += int(v)
			}
			binary.Write(&answer, binary.LittleEndian, int32(min(max(sum*10/(12*256), 0), 9)))
		}
		io.Copy(os.Stdout, &answer)
	}
}

// arrayHead is the head of a NumPy file of bytes.
func arrayHead(shape string) []byte {
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }"
	head += strings.Repeat(" ", 127-10-len(head)) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head))), head...)
}

var instructionSet = regexp.MustCompile(`"instruction_set":"[^"]*"`)

// What certify, preflight, ledger merge and ledger canonical make of a model over a pipe, on the command line.
func TestVerbsOnPipe(t *testing.T) {
	t.Setenv(pipeVariable, "1")
	dir := t.TempDir()
	check := func(name, file string) {
		t.Helper()
		rsBook.check(t, name, instructionSet.ReplaceAll(comparable(testkit.Read(t, filepath.Join(dir, file))), nil))
	}
	certify := func(file string, more ...string) {
		t.Helper()
		run(t, append([]string{"certify", "--exec", os.Args[0], "--data", "synthetic/test[max_index=6]", "--sigma", "0.25", "--seed", "7",
			"--out", filepath.Join(dir, file)}, more...)...)
	}
	certify("staged", "--n", "2000")
	check("certify", "staged")
	certify("betting", "--n", "1000", "--rule", "betting", "--radii", "0,0.125")
	check("certify, betting", "betting")
	for _, shard := range []string{"0/3", "1/3", "2/3"} {
		certify("shard"+shard[:1], "--n", "2000", "--shard", shard)
	}
	check("certify, shard", "shard1")

	run(t, "merge", "-o", filepath.Join(dir, "merged"), filepath.Join(dir, "shard2"), filepath.Join(dir, "shard0"), filepath.Join(dir, "shard1"))
	check("ledger merge", "merged")
	if !bytes.Equal(testkit.Read(t, filepath.Join(dir, "merged")), testkit.Read(t, filepath.Join(dir, "staged"))) {
		t.Error("the merged ledger is not that of one run")
	}
	whole := testkit.Read(t, filepath.Join(dir, "staged"))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	torn := append(bytes.Join(lines[:6], nil), lines[6][:len(lines[6])/2]...)
	testkit.Write(t, torn, dir, "torn")
	run(t, "ledger", "export", "--format", "canonical", "-o", filepath.Join(dir, "canonical"), filepath.Join(dir, "torn"))
	check("ledger canonical", "canonical")

	// Checks are worded anew; rates, plans with their times and the instruction set depend on the machine.
	images, labels := arrayHead("(40, 32, 32, 3)"), arrayHead("(40,)")
	for i := range 40 {
		labels = append(labels, byte(i%10))
		images = append(images, bytes.Repeat([]byte{byte(13 + 25*(i%10))}, 32*32*3)...)
	}
	os.WriteFile(filepath.Join(dir, "images.npy"), images, 0o666)
	os.WriteFile(filepath.Join(dir, "labels.npy"), labels, 0o666)
	data := "npy:" + filepath.Join(dir, "images.npy") + "," + filepath.Join(dir, "labels.npy")
	out := run(t, "preflight", "--exec", os.Args[0], "--data", data, "--sigma", "0.25", "--n", "1000", "--json")
	rsBook.check(t, "preflight", without(t, bytes.ReplaceAll(out, []byte(dir), []byte("DIR")), "checks", "memory", "plans", "rate", "preprocessing",
		"instruction_set"))
}
