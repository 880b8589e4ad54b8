package strength_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
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
	testkit.Write(t, raw.Bytes(), bytesOf)
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
	good := testkit.Read(t, file)
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
		testkit.Write(t, []byte(seal(change)), file)
		if said, ok := check(file, raw); ok {
			t.Errorf("%s: %s", name, said)
		}
	}
	testkit.Write(t, []byte(seal(func([]string) {})), file)
	if said, ok := check(file, raw); !ok {
		t.Error(said)
	}
	other := images(3)
	other.Pixels[0]++
	var text bytes.Buffer
	if err := other.Indexed().WriteBytes(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, text.Bytes(), raw)
	if said, ok := check(file, raw); ok || !strings.Contains(said, "not those of the data") {
		t.Error(said)
	}
}

// bright has class 1 where the mean of an image is at least 100 levels.
func bright(t *testing.T) classifier.Classifier {
	t.Helper()
	return classifier.Func(shape, 2, func(image []float32) []float32 {
		sum := float32(0)
		for _, v := range image {
			sum += v
		}
		return []float32{0, sum/float32(len(image)) - 100./255}
	})
}

// A ledger with a grey mode proves brightness that the plain noise does not; the intervals are
// those of a search over all whole shifts in floating point, and the checker agrees. Altered files,
// ledgers and bytes are found out.
func TestEllipsoid(t *testing.T) {
	check, data, folder := checker(t), images(6), t.TempDir()
	for i := range data.Labels {
		data.Labels[i] = 1
		for k := range shape.Len() { // from mid-grey up, with some values at the ends
			data.Pixels[i*shape.Len()+k] = uint8(min(255, 110+12*i+int(data.Pixels[i*shape.Len()+k])/4*(1+i/4*3)))
		}
	}
	data.Digest = data.ContentDigest()
	var raw bytes.Buffer
	if err := data.Indexed().WriteBytes(t.Context(), &raw); err != nil {
		t.Fatal(err)
	}
	rawFile := testkit.Write(t, raw.Bytes(), folder, "bytes")
	reach := map[noise.Law]int{}
	for _, law := range []noise.Law{"grid", "spectrum:grey@0=0.05"} {
		path, file := filepath.Join(folder, string(law)[:4]+".ledger"), filepath.Join(folder, string(law)[:4]+".strength")
		run, err := rs.Certify(t.Context(), bright(t), data, rs.Options{Sigma: 0.25, Noise: law, Rule: rs.Fixed, MaxSamples: 1000, Ledger: path})
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text), `"version":4`) != (law != "grid") || strings.Contains(string(text), `"version":3`) != (law == "grid") {
			t.Fatalf("%v: %.60s", err, text)
		}
		o := strength.Options{Over: strengths(t, "brightness=-40:40"), File: file}
		f, err := strength.FromLedger(t.Context(), path, data, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range f.Lines {
			r := run.Rows[i]
			inside := func(theta int) bool {
				for u := -45; u <= 45; u++ {
					n := math.Pow(float64(u)*.25/.05, 2)
					if law == "grid" && u != 0 {
						continue
					}
					for _, v := range data.Image(i) {
						n += math.Pow(float64(min(max(int(v)+theta, 0), 255)-int(v)-u), 2)
					}
					if math.Sqrt(n)/255 < r.Radius {
						return true
					}
				}
				return false
			}
			low, high := 0, 0 // outward, one up and one down in turns, until one is outside
			for step := 1; step <= 40; step++ {
				if !inside(step) {
					break
				}
				high = step
				if !inside(-step) {
					break
				}
				low = -step
			}
			if l.From != fmt.Sprint(low) || l.To != fmt.Sprint(high) || l.Class != r.Class {
				t.Errorf("%s, image %d: %+v; expected %d to %d", law, i, l, low, high)
			}
			reach[law] += high
		}
		if said, ok := check(file, rawFile, path); !ok || !strings.Contains(said, "keep theirs") {
			t.Errorf("%s: %s", law, said)
		}
		if said, ok := check(file, rawFile); !ok || !strings.Contains(said, "Not proven: anything") {
			t.Errorf("%s: %s", law, said)
		}
		again, err := strength.FromLedger(t.Context(), path, data, o)
		if err != nil || again.Digest != f.Digest || again.Digest == "" {
			t.Errorf("%v: %s", err, again.Digest)
		}
		if _, err := strength.Replay(t.Context(), f, bright(t), data, 0, nil); err == nil {
			t.Error("a replay asked a model")
		}
		if law == "grid" {
			continue
		}
		good := testkit.Read(t, file)
		for _, change := range [][2]string{{" outside ", " outside 1"}, {f.Lines[0].To + " ", f.Lines[0].To + "0 "}, {f.Lines[1].Digest, f.Lines[0].Digest},
			{f.Header.Ledger, f.Lines[0].Digest}, {fmt.Sprintf(" %d outside", f.Lines[0].Shift), fmt.Sprintf(" %d outside", f.Lines[0].Shift+1)}, {"0 1 1 ", "0 1 0 "}} {
			body := strings.Replace(string(good), change[0], change[1], 1)
			body = body[:strings.LastIndex(body, "sha256 ")]
			body += fmt.Sprintf("sha256 %x\n", sha256.Sum256([]byte(body)))
			bad := testkit.Write(t, []byte(body), folder, "bad")
			if said, ok := check(bad, rawFile, path); ok || body == string(good) {
				t.Errorf("%q: %s", change, said)
			}
		}
		if _, ok := check(file, rawFile, filepath.Join(folder, "grid.ledger")); ok {
			t.Error("another ledger")
		}
	}
	if reach["spectrum:grey@0=0.05"] < 2*reach["grid"] || reach["grid"] < 1 {
		t.Errorf("levels up: %v", reach)
	}
}
