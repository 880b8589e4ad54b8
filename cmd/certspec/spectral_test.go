package main

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/npy"
)

// npyFile writes images as a NumPy file.
func npyFile(t *testing.T, pixels []uint8, shape ...int) string {
	t.Helper()
	var b bytes.Buffer
	if err := npy.WriteHeader(&b, "|u1", shape...); err != nil {
		t.Fatal(err)
	}
	b.Write(pixels)
	return writeFile(t, "images.npy", b.String())
}

// Two differences of known spectrum: 51 grey levels everywhere, and a checkerboard of ±51 around that.
func TestSpectralSpectrum(t *testing.T) {
	const side = 6
	clean, even, board := make([]uint8, 2*side*side*3), make([]uint8, side*side*3), make([]uint8, side*side*3)
	for k := range even {
		even[k] = 51
		board[k] = uint8(102 * ((k/3/side + k/3%side) % 2))
	}
	in, minus := npyFile(t, append(even, board...), 2, side, side, 3), npyFile(t, clean, 2, side, side, 3)
	out := filepath.Join(t.TempDir(), "new", "amplitude.csv")
	got := jsonOf(t, "spectral", "spectrum", "--in", in, "--minus", minus, "--out", out, "--json")
	// Zero frequency has .2·36 in both, the corner (−3, −3) the same in one of two.
	checkNumbers(t, got, map[string]float64{"images": 2, "centroid": 3.6 * 3 * math.Sqrt2 / 10.8})
	if got["amplitude_slope"] != nil || got["difference"] != true || len(got["warnings"].([]any)) != 2 {
		t.Errorf("slope %v of a spectrum with zeros, difference %v, warnings %v", got["amplitude_slope"], got["difference"], got["warnings"])
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != side {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		for j, text := range r {
			want := 0.0
			switch {
			case i == 3 && j == 3:
				want = 7.2
			case i == 0 && j == 0:
				want = 3.6
			}
			if v, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(v-want) > 1e-12 {
				t.Errorf("%q at row %d, column %d; want %v", text, i, j, want)
			}
		}
	}
	profile := filepath.Join(t.TempDir(), "profile.csv")
	rings := jsonOf(t, "spectral", "spectrum", "--profile", "--in", in, "--json", "--out", profile)["profile"].([]any)
	checkNumbers(t, rings[0].(map[string]any), map[string]float64{"frequency": 0, "bins": 1, "amplitude": 7.2, "power": 7.2 * 7.2})
	checkNumbers(t, rings[len(rings)-1].(map[string]any), map[string]float64{"frequency": 4, "amplitude": 3.6 / 5, "power": 7.2 * 7.2 / 2 / 5, "bins": 5})
	text, err := os.ReadFile(profile)
	if err != nil || !bytes.HasPrefix(text, []byte("frequency,bins,amplitude,power\n0,1,7.2")) {
		t.Errorf("%v, %q", err, text)
	}
}

func TestSpectralOfBadInput(t *testing.T) {
	in, other := npyFile(t, make([]uint8, 24), 2, 3, 4), npyFile(t, make([]uint8, 12), 1, 3, 4)
	out := filepath.Join(t.TempDir(), "amplitude.csv")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"spectrum"}, cli.ExitUsage},
		{[]string{"spectrum", "--in", in, "--data", "synthetic"}, cli.ExitUsage},
		{[]string{"spectrum", "--in", in, "--minus", other, "--out", out}, cli.ExitFailed},
		{[]string{"spectrum", "--in", writeFile(t, "bad.npy", "no array"), "--out", out}, cli.ExitFailed},
		{[]string{"spectrum", "--profile", "--in", filepath.Join(t.TempDir(), "none.npy")}, cli.ExitFailed},
	} {
		if text, code := output(t, append([]string{"spectral"}, c.args...)...); code != c.want || text != "" {
			t.Errorf("%q: exit code %d, output %q; want %d and nothing", c.args, code, text, c.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a file was written after an error")
	}
}

// Real images have the spectrum of the bytes they are of, and a value that is not finite is named.
func TestSpectralOfRealImages(t *testing.T) {
	file := func(name string, values ...float32) string {
		var b bytes.Buffer
		if err := npy.WriteHeader(&b, "<f4", 1, 2, 2); err != nil {
			t.Fatal(err)
		}
		if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
			t.Fatal(err)
		}
		return writeFile(t, name, b.String())
	}
	got := jsonOf(t, "spectral", "spectrum", "--profile", "--in", file("a.npy", -.5, 0, .5, 2), "--minus", npyFile(t, make([]uint8, 4), 1, 2, 2), "--json")
	// The sum is 2; sums with signs by column, row and both are −2, −3 and 1.
	rings := got["profile"].([]any)
	checkNumbers(t, rings[0].(map[string]any), map[string]float64{"frequency": 0, "amplitude": 2, "bins": 1})
	checkNumbers(t, rings[1].(map[string]any), map[string]float64{"frequency": 1, "amplitude": 2, "bins": 3})
	cmd, _, stderr := program(t, "spectral", "spectrum", "--profile", "--in", file("nan.npy", 0, 0, float32(math.NaN()), 0))
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "image 0 has the value NaN at row 1, column 0, channel 0") {
		t.Errorf("%v: %s", err, stderr)
	}
}
