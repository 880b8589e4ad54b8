package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs/sweep"
)

// CorruptOptions say how images are corrupted before a model sees them.
type CorruptOptions struct {
	text     string
	severity int
	cmd      *cobra.Command
}

// Flags adds --corrupt and what goes with it.
func (o *CorruptOptions) Flags(cmd *cobra.Command) {
	o.cmd = cmd
	Group(cmd, Data, func(f *Flags) {
		f.Named(&o.text, "corrupt", "",
			"corrupt the images first: a name with --severity, or fog:3 or fourier:fc=3,a=0.5,eps=8; see certspec "+
				"corrupt list", Corruptions)
		f.IntVar(&o.severity, "severity", 0, "of --corrupt, 1 to 5")
	})
}

// Open corrupts images as the flags ask.
func (o *CorruptOptions) Open(images *dataset.Dataset) (*dataset.Dataset, error) {
	f := o.cmd.Flags()
	if !f.Changed("corrupt") {
		if f.Changed("severity") {
			return nil, Usagef("--severity without --corrupt")
		}
		return images, nil
	}
	s, err := corrupt.Parse(o.text)
	if err != nil {
		return nil, Usage(err)
	}
	if f.Changed("severity") {
		if strings.Contains(o.text, ":") {
			return nil, Usagef("--severity with --corrupt %s: expected the strength once", o.text)
		}
		s.Severity = o.severity
	}
	images, err = corrupt.Dataset(images, s, 0)
	return images, Usage(err)
}

// CorruptVariants make a corruption another one than the default.
type CorruptVariants struct{ corrupt.Setting }

// Flags adds their flags.
func (o *CorruptVariants) Flags(f *Flags) {
	f.BoolVar(&o.GlassSwap, "glass-swap", false,
		"glass_blur: exchange pixels, instead of copying them as in the published data")
	f.BoolVar(&o.Archive, "fourier-archive", false,
		"fourier: as the authors' archive computes it, instead of the paper")
	f.Folder(&o.Photographs, "photographs",
		"frost: folder of photographs of frost, of which the first five by name are used (default a drawn substitute)")
}

// Corruptions are the names of the corruptions.
func Corruptions() []string {
	var names []string
	for _, i := range corrupt.List() {
		names = append(names, i.Name)
	}
	return names
}

// CorruptionWords are the names of the corruptions, and those of their families and groups.
func CorruptionWords() []string {
	words := []string{"all"}
	for _, i := range corrupt.List() {
		for _, word := range []string{string(i.Family), string(i.Group)} {
			if word != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return append(words, Corruptions()...)
}

// Cells are the corruptions and severities that --corrupt and --severity ask, with the settings of a variant.
func Cells(words []string, severities []int, variant corrupt.Setting) ([]sweep.Cell, error) {
	if len(severities) > 0 && len(words) == 0 {
		return nil, Usagef("--severity without --corrupt")
	}
	names, err := corrupt.Expand(words)
	if err != nil {
		return nil, Usage(err)
	}
	cells, err := sweep.Cells(names, variant, severities)
	return cells, Usage(err)
}

// Labels are the pairs that --label gives.
func Labels(texts []string) (labels [][2]string, err error) {
	for _, text := range texts {
		label, value, ok := strings.Cut(text, "=")
		if !ok || label == "" || value == "" {
			return nil, Usagef("--label %s: expected label=value, such as group=standard", text)
		}
		labels = append(labels, [2]string{label, value})
	}
	return labels, nil
}
