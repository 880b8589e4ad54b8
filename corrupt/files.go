package corrupt

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/corrupt/shared"
)

// File is one file of a set: images at several strengths, one block after the other.
type File struct {
	Name     string    `json:"name"` // "fog.npy"
	Settings []Setting `json:"settings"`
}

// Published settings of CIFAR-F: 16 rings, 4 decays and 3 norms make 192.
var (
	FourierDecays = []float64{0.5, 1, 2, 3}
	fourierNorms  = []float64{8, 10, 12}
)

// FourierCentres is the number of published rings, from 1 on.
const FourierCentres = 16

// Files lists the files of a corruption as they are published: one NAME.npy with severities 1 to 5. For "fourier" it is
// one fourier_fcFC_aALPHA.npy for each ring and decay, with the norms 8, 10 and 12, 64 in all. The setting gives the
// options beside the strength.
func Files(s Setting) ([]File, error) {
	e, err := find(s.Name)
	if err != nil {
		return nil, err
	}
	if e.Family == F {
		var files []File
		for _, decay := range FourierDecays {
			for centre := range FourierCentres {
				files = append(files, FourierFile(centre+1, decay, s.Archive))
			}
		}
		return files, nil
	}
	f := File{Name: s.Name + ".npy"}
	for severity := range severities {
		one := s
		one.Severity = severity + 1
		f.Settings = append(f.Settings, one)
	}
	return []File{f}, nil
}

// FourierFile returns the file of one ring and decay of CIFAR-F with the published norms, as in the paper or as the
// archive computes it.
func FourierFile(centre int, decay float64, archive bool) File {
	f := File{Name: fmt.Sprintf("fourier_fc%d_a%g.npy", centre, decay)}
	for _, norm := range fourierNorms {
		f.Settings = append(f.Settings, Setting{Name: shared.FourierName, Centre: centre, Decay: decay, Norm: norm,
			Archive: archive})
	}
	return f
}

// Names returns the corruptions of some families or groups ("C", "C-extra", "C-bar", "F", "Low", "Mid", "High"), in the
// order of the registry. "all" is all of them. Another word is a *SettingError.
func Names(words []string) ([]string, error) {
	known := []string{"all"}
	var names []string
	for _, e := range registry {
		for _, word := range []string{string(e.Family), string(e.Group)} {
			if !slices.Contains(known, word) {
				known = append(known, word)
			}
		}
		if slices.ContainsFunc(words, func(w string) bool {
			return w == "all" || w == string(e.Family) || w == string(e.Group)
		}) {
			names = append(names, e.Name)
		}
	}
	for _, word := range words {
		if !slices.Contains(known, word) {
			return nil, &SettingError{word, "no such family or group", fmt.Sprintf("one of %v", known)}
		}
	}
	return names, nil
}
