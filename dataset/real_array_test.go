package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// realBytes is a NumPy file of real values.
func realBytes(t testing.TB, dtype, shape string, values ...float64) []byte {
	t.Helper()
	var data []byte
	for _, v := range values {
		if dtype == "<f4" {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		} else {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
	}
	return npyBytes(dtype, "False", shape, data)
}

func TestReadAnyArray(t *testing.T) {
	values := []float64{0, .5, 1, -.25, 1.5, .1, 2, 3, 4, 5, 6, 7}
	for dtype, data := range map[string][]byte{"<f4": realBytes(t, "<f4", "(2, 1, 2, 3)", values...), "<f8": realBytes(t, "<f8", "(2, 1, 2, 3)", values...)} {
		a, err := ReadAnyArray(t.Context(), testkit.Write(t, data, t.TempDir(), "a.npy"))
		if err != nil {
			t.Fatal(err)
		}
		want := []float32{0, .5, 1, -.25, 1.5, .1, 2, 3, 4, 5, 6, 7}
		if a.N != 2 || a.Shape != (pixel.Shape{Height: 1, Width: 2, Channels: 3}) || !slices.Equal(a.Real, want) || a.Bytes != nil || !slices.Equal(a.Reals(), want) {
			t.Errorf("%s: %+v", dtype, a)
		}
	}
	a, err := ReadAnyArray(t.Context(), testkit.Write(t, npyBytes("|u1", "False", "(1, 1, 3)", []byte{0, 51, 255}), t.TempDir(), "a.npy"))
	if err != nil || !slices.Equal(a.Bytes, []byte{0, 51, 255}) || a.Real != nil || !slices.Equal(a.Reals(), []float32{0, .2, 1}) {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestReadAnyArrayErrors(t *testing.T) {
	bad := make([]float64, 24)
	bad[12+7] = math.NaN() // second image, second pixel of its second row, second channel
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"NaN":                {realBytes(t, "<f4", "(2, 2, 2, 3)", bad...), "image 1 has the value NaN at row 1, column 0, channel 1"},
		"NaN in double":      {realBytes(t, "<f8", "(2, 2, 2, 3)", bad...), "image 1 has the value NaN at row 1, column 0, channel 1"},
		"infinite":           {realBytes(t, "<f4", "(1, 1, 1)", math.Inf(-1)), "image 0 has the value -Inf at row 0, column 0, channel 0"},
		"beyond float32":     {realBytes(t, "<f8", "(1, 1, 1)", 1e300), "1e+300"},
		"four channels":      {realBytes(t, "<f4", "(1, 1, 1, 4)", 0, 0, 0, 0), "4 channels (last dimension); expected 1 or 3"},
		"flat":               {realBytes(t, "<f4", "(4,)", 0, 0, 0, 0), "images × height × width"},
		"integers":           {npyBytes("<i4", "False", "(1, 1, 1)", make([]byte, 4)), `"<i4"`},
		"short":              {realBytes(t, "<f4", "(2, 1, 2)", 0, 0, 0), "12 bytes of data; expected 16"},
		"big-endian doubles": {npyBytes(">f8", "False", "(1, 1, 1)", make([]byte, 8)), `">f8"`},
	} {
		if _, err := ReadAnyArray(t.Context(), testkit.Write(t, c.data, t.TempDir(), "a.npy")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
}

// Labels stay whole numbers: the bits of a real one are not taken for them.
func TestLabelsAreIntegers(t *testing.T) {
	for _, dtype := range []string{"<f4", "<f8"} {
		data := realBytes(t, dtype, "(2,)", 0, 0)
		file, err := parseNPY(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if labels, err := decodeLabels(t.Context(), file); err == nil {
			t.Errorf("%s: labels %v", dtype, labels)
		}
	}
}

func FuzzReadReal(f *testing.F) {
	f.Add(realBytes(f, "<f4", "(1, 2, 2, 3)", make([]float64, 12)...))
	f.Add(realBytes(f, "<f8", "(2, 1, 1)", 1, math.NaN()))
	f.Add(realBytes(f, "<f4", "(1, 1, 1, 4)", 0, 1, 2, 3))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ReadAnyArray(t.Context(), testkit.Write(t, data, t.TempDir(), "a.npy"))
		if err != nil {
			return
		}
		values := a.Reals()
		if !a.Shape.Valid() || len(values) != a.N*a.Shape.Len() {
			t.Errorf("%d images of %v, %d values", a.N, a.Shape, len(values))
		}
		for _, v := range values {
			if v-v != 0 {
				t.Fatalf("value %v", v)
			}
		}
	})
}
