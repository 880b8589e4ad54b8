package spectral_test

import (
	"math"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/spectral"
)

func TestProbed(t *testing.T) {
	d, err := dataset.Open("synthetic/test[max_index=6]")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := spectral.Frequency{U: 3, V: -5}
	im, err := spectral.Probed(d, f, spectral.ProbeOptions{Seed: 9}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if im.Name != "synthetic/test[max_index=6,probe=u=-3,v=5,eps=4,seed=9]" || im.Digest == plain.Digest {
		t.Errorf("%s, %s", im.Name, im.Digest)
	}
	signs := map[int]bool{}
	for i := range im.Len() {
		sign := spectral.Signs(im.Shape, f, 9, uint64(im.IDs[i]))
		signs[sign&7] = true
		grid := im.Grid(i)
		// spec §7.1: U_{3,−5}[a, b] = √2/32 · cos(2π(3a − 5b)/32), and ε = 4 in each channel (§7.2).
		for a := range 32 {
			for b := range 32 {
				for c := range 3 {
					want := math.Round(255 * 4 * math.Sqrt2 / 32 * math.Cos(2*math.Pi*float64(3*a-5*b)/32))
					if sign>>c&1 == 1 {
						want = -want
					}
					at := (a*32+b)*3 + c
					if got := float64(grid[at]) - float64(plain.Image(i)[at]); got != want {
						t.Fatalf("image %d at %d, %d, %d: %v added, want %v", i, a, b, c, got, want)
					}
				}
			}
		}
	}
	if len(signs) < 2 {
		t.Errorf("all images have the signs %v", signs)
	}
	mirror, err := spectral.Probed(d, spectral.Frequency{U: -3, V: 5}, spectral.ProbeOptions{Seed: 9}).Load(t.Context())
	if err != nil || mirror.Digest != im.Digest || mirror.Name != im.Name {
		t.Errorf("−f gives %s, f %s, %v", mirror.Digest, im.Digest, err)
	}
	part, err := spectral.Probed(d.Subset(dataset.Skip(2)), f, spectral.ProbeOptions{Seed: 9}).Load(t.Context())
	if err != nil || part.Grid(1)[100] != im.Grid(2)[100] {
		t.Errorf("image 2 differs in a subset: %v", err)
	}
	// A real probe is that of §7.1 to the last bits of a float32, and signs are the same.
	real, err := spectral.Probed(d, f, spectral.ProbeOptions{Seed: 9, Real: true}).Load(t.Context())
	if err != nil || real.Name != "synthetic/test[max_index=6,probe=u=-3,v=5,eps=4,seed=9,real]" || real.Digest == im.Digest {
		t.Fatalf("%v, %v", real, err)
	}
	for i := range real.Len() {
		sign := spectral.Signs(real.Shape, f, 9, uint64(real.IDs[i]))
		grid, residue := real.Grid(i), real.Residue(i)
		for at := range grid {
			a, b, c := at/96, at/3%32, at%3
			want := 4 * math.Sqrt2 / 32 * math.Cos(2*math.Pi*float64(3*a-5*b)/32)
			if sign>>c&1 == 1 {
				want = -want
			}
			want += float64(plain.Image(i)[at]) / 255
			if got := float64(grid[at])/255 + float64(residue[at]); math.Abs(got-want) > 1e-7 {
				t.Fatalf("image %d, value %d is %v, want %v", i, at, got, want)
			}
		}
	}
	for name, bad := range map[string]*dataset.Dataset{
		"frequency 17": spectral.Probed(d, spectral.Frequency{U: 17}, spectral.ProbeOptions{}),
		"norm −1":      spectral.Probed(d, f, spectral.ProbeOptions{Epsilon: -1}),
		"twice":        spectral.Probed(spectral.Probed(d, f, spectral.ProbeOptions{}), f, spectral.ProbeOptions{}),
	} {
		if _, err := bad.Load(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
