package strength_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/strength"
)

// checker builds certcheck, which imports nothing of ours, and gives its words on files.
func checker(t *testing.T) func(args ...string) (string, bool) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "certcheck.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../cmd/certcheck", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) (string, bool) {
		out, err := exec.CommandContext(t.Context(), program, append([]string{"--strength"}, args...)...).CombinedOutput()
		return string(out), err == nil
	}
}

// written proves a set under strengths and writes file and bytes.
func written(t *testing.T, m planted, data source, over string) (file, bytesOf string) {
	t.Helper()
	folder := t.TempDir()
	file, bytesOf = filepath.Join(folder, "a.strength"), filepath.Join(folder, "a.bytes")
	prove(t, m, data, strength.Options{Over: strengths(t, over), File: file})
	var raw bytes.Buffer
	if err := data.Indexed().WriteBytes(t.Context(), &raw); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bytesOf, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, bytesOf
}

// The checker makes the same lists, by code of its own: each digest covers every byte of every
// image.
func TestCertcheckMakesTheSameLists(t *testing.T) {
	check := checker(t)
	for _, s := range []pixel.Shape{{Height: 8, Width: 8, Channels: 3}, {Height: 7, Width: 13, Channels: 3}, {Height: 28, Width: 28, Channels: 1},
		{Height: 32, Width: 32, Channels: 3}} {
		shape = s
		data := images(3)
		for i := range shape.Len() {
			data.Pixels[i] = uint8(i * 255 / shape.Len()) // one that is smooth
			data.Pixels[shape.Len()+i] = 77               // and one that is flat
		}
		data.Digest = data.ContentDigest()
		for _, over := range []string{"brightness=-255:255", "brightness=2:9", "jpeg=1:100", "jpeg=20:30", "shift=-3:3", "contrast=0.9:1.1",
			"contrast=1.5:1.53", "contrast=0:0.02"} {
			f := prove(t, planted{asked: new(atomic.Int64)}, data, strength.Options{Over: strengths(t, over)})
			m := planted{at: map[string]int32{}, asked: new(atomic.Int64)}
			o, err := strengths(t, over).Orbits(shape)
			if err != nil {
				t.Fatal(err)
			}
			far := make([]uint8, shape.Len())
			o.At()(far, data.Image(2), o.Len()/3)
			m.at[string(far)] = 1
			if f.Claims.Proven != 3 {
				t.Errorf("%+v", f.Claims)
			}
			for _, m := range []planted{{asked: new(atomic.Int64)}, m} {
				file, raw := written(t, m, data, over)
				if said, ok := check(file, raw); !ok || !strings.Contains(said, "complete") {
					t.Errorf("%v, %s: %s", shape, over, said)
				}
				if said, ok := check(file); !ok || !strings.Contains(said, "Not proven: that the lists are complete") {
					t.Errorf("%v, %s: %s", shape, over, said)
				}
			}
		}
	}
	shape = pixel.Shape{Height: 8, Width: 8, Channels: 3}
}

// A prover that leaves an image out, asks another one, stops early, or lies about the data is found
// out, though its file is sealed.
func TestCertcheckFindsBrokenProvers(t *testing.T) {
	check := checker(t)
	data := images(3)
	m := planted{at: map[string]int32{}, asked: new(atomic.Int64)}
	dark := bytes.Clone(data.Image(2))
	for i, v := range dark {
		dark[i] = byte(max(int(v)-4, 0))
	}
	m.at[string(dark)] = 2
	file, raw := written(t, m, data, "brightness=-6:6")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(good), "\n"), "\n")
	digest := func(without int) string {
		sum := sha256.New()
		for _, theta := range []int{0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6} {
			if theta == without {
				continue
			}
			image := bytes.Clone(data.Image(0))
			for i, v := range image {
				image[i] = byte(min(max(int(v)+theta, 0), 255))
			}
			sum.Write(image)
		}
		return hex.EncodeToString(sum.Sum(nil))
	}
	if !strings.Contains(lines[1], " 13 "+digest(99)+" ") {
		t.Fatalf("%s, %s", lines[1], digest(99))
	}
	seal := func(change func(lines []string)) string {
		changed := append([]string{}, lines[:len(lines)-1]...)
		change(changed)
		body := strings.Join(changed, "")
		return body + fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(body)))
	}
	replace := func(line int, old, by string) func([]string) {
		return func(l []string) {
			if !strings.Contains(l[line], old) {
				t.Errorf("%q has no %q", l[line], old)
			}
			l[line] = strings.Replace(l[line], old, by, 1)
		}
	}
	for name, change := range map[string]func([]string){
		"one left out":          replace(1, " 13 "+digest(99), " 12 "+digest(3)),
		"one left out, counted": replace(1, digest(99), digest(3)),
		"one too few":           replace(1, " 13 ", " 12 "),
		"another digest":        replace(2, " 13 ", " 13 00"),
		"a change further away": replace(3, "-3 4 9", "-4 4 9"),
		"no change":             replace(3, " flip -4 2", ""),
		"another change":        replace(3, "flip -4", "flip -5"),
		"a change nowhere":      replace(3, "flip -4", "flip 9"),
		"the same class":        replace(3, "flip -4 2", "flip -4 0"),
		"another label":         replace(2, "10 0 0 ", "10 1 0 "),
		"another image":         replace(2, "10 0 0 ", "11 0 0 "),
		"more proven":           replace(5, "right 1 2", "right 2 2"),
		"another range":         replace(0, "brightness=-6:6", "brightness=-7:6"),
		"another shape":         replace(0, `"height":8,"width":8`, `"height":4,"width":16`),
		"an unknown key":        replace(0, `"batch"`, `"colour":1,"batch"`),
		"fewer images":          func(l []string) { l[3] = "" },
	} {
		if err := os.WriteFile(file, []byte(seal(change)), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, ok := check(file, raw); ok {
			t.Errorf("%s: %s", name, said)
		}
	}
	if err := os.WriteFile(file, []byte(seal(func([]string) {})), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, ok := check(file, raw); !ok {
		t.Error(said)
	}
	other := images(3)
	other.Pixels[0]++
	var text bytes.Buffer
	if err := other.Indexed().WriteBytes(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(raw, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, ok := check(file, raw); ok || !strings.Contains(said, "not those of the data") {
		t.Error(said)
	}
}
