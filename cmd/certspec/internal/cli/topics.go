package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// topic describes what several commands share. Help names it to the commands that have one of its flags.
type topic struct{ name, short, flags, text string }

var topics = []topic{
	{"data", "How images are named, prepared and chosen", "data max-index",
		`A data set is named by --data. certspec dataset list shows all sets, and which of them are here.

  fashionmnist/test                      a known set and its part, train or test
  fashionmnist/test[skip=20,count=100]   some of its images
  folder:PATH                            pictures CLASS/PICTURE.png or .jpg in a folder, .tar or .tar.gz
  npy:IMAGES.npy,LABELS.npy              uint8 images, N×H×W×C, and N labels, which may be missing
  npz:FILE.npz                           arrays of one file, as of MedMNIST: its test images; others by their
                                         names, as npz:FILE.npz[images=train_images,labels=train_labels]
  PATH                                   a folder, archive, .npy or .npz file that is there

certspec dataset fetch NAME downloads a set into the cache, and checks it. Sets that cannot be
downloaded are looked for below the folder CERTSPEC_DATA.

Choose images:     --count 500 takes 500, spread over the classes; --skip 20 every 20th;
                   --max-index 1000 those before the 1,000th.
Prepare images:    in brackets behind the name, as 'folder:PATH[resize=256,crop=224]'. All this happens
                   before the noise, and values are rounded to bytes: certificates are about the
                   prepared image.

  resize=256         the shorter side in pixels, or both, as 224x160 (height first)
  filter=lanczos     of the resize, as in Pillow: nearest, box, bilinear (the default), bicubic or lanczos
  crop=224           then cut this from the centre; or 224x160
  channels=rgb       grey images get three equal channels; channels=grey: those in RGB become grey
  background=white   behind transparent pixels: white, black, grey or #rrggbb
  depth=8            values of 16 bits become round(v/257)
  classes=FILE       a line FOLDER, or FOLDER LABEL NAME, per folder of pictures

Corrupt images:    --corrupt fog:3 or --corrupt fog --severity 3, as CIFAR-10-C does;
                   certspec corrupt list names all corruptions.

What was done to the images is recorded in the ledger, with a digest of the images. --data-name NAME
says what the set is called there, and in tables and figures, in the place of its path.
`},
	{"model", "Our networks, ONNX files, and any program as a model", "exec",
		`A model is one of three things.

  --model PATH      a model file of certspec: weights PATH.safetensors and a card PATH.json, as
                    certspec train and certspec import write them
  --model NET.onnx  any image classifier in an ONNX file, whoever trained it
  --exec COMMAND    any program that answers over a pipe; examples/pipe/pytorch_model.py is one

A model gets images in [0, 1]. An ONNX file does not say how they are prepared. Flags say it, or a card
NET.onnx.json beside the file; a flag goes before the card:

  --mean, --std     the image enters as (scale · x − mean) / std; one value, or one per channel
  --scale           what white is before that, 1 or 255
  --layout, --shape, --channel-order, --input-name, --output-name, --scores, --class-names
                    only where the graph leaves it open; the error says which one is needed

certspec preflight finds the usual mistakes in a minute: wrong normalisation, channel order or labels.

--engine chooses what runs the network: auto, onnxruntime, xla, xla:cpu, xla:cuda or go. Without it,
the variables CERTSPEC_BACKEND and GOMLX_BACKEND choose, else the best one found. An ONNX file runs on
onnxruntime without --engine; others run its layers, and refuse operators that are not read as layers.
certspec backend list shows them; certspec backend install fetches one.

Weights alone (.pt, .pth, .npz) lack the network: export it to ONNX, or see certspec import -h.
`},
	{"rules", "Noise, stopping rules, and what a certificate says", "sigma",
		`The noise is Gaussian with standard deviation --sigma, in units of the full range of a value. --noise grid
draws it on a grid, so that certificates hold in floating point; --noise gaussian holds in real
arithmetic only. Every certificate is false with probability at most --alpha. It is about one image;
certspec report says what holds for all at once.

--rule says how many noise samples an image gets:

  staged    looks at growing numbers of samples, and stops where more would hardly help (the default)
  fixed     --n samples for every image, as in the papers
  iss       a pilot of --n0 samples decides how many, within --tolerance
  betting   until the radii of --radii are certified or hopeless (--futility)
  anytime   spreads a --budget of samples or time over all images, where it helps most

--n is the maximum number of noise samples, --n0 the number that chooses the class, --block the number
in one call of the model. certspec plan compares the rules on your model, before a run.

--seed is derived from model, data and settings; with one --seed, several models meet the same noise.
Whoever chooses settings by looking at a ledger must
draw new noise, by another --seed, or the certificates do not hold.
`},
	{"output", "Files, JSON, progress and exit codes", "out json",
		`Results go to standard output. Messages, warnings and progress go to standard error.

  --out, -o   the file or folder to write; - is standard output
  --json      numbers as JSON, in full
  --format    of a table: markdown, latex, csv, html or text; else the ending of --out decides

A figure is .svg, .png or .pdf, by the ending of --out.

A run that takes long records its work: in the ledger, or in the folder of --out. Ctrl-C stops it.
The same command goes on where it was, and ends with the same bytes. A finished run is read and printed
at once. A file of another run is refused, with the setting that differs.

Exit codes:  0 done, 1 failed, 2 wrong use, 3 undecided, 75 stopped on request. Of gate 1 is its verdict
alone, and 4 says that no verdict could be reached or kept.

--shard i/n splits a run over machines; certspec merge joins the parts.
`},
}

// topicCommands are the topics as certspec help NAME shows them.
func topicCommands() (all []*cobra.Command) {
	for _, t := range topics {
		all = append(all, &cobra.Command{Use: t.name, Short: t.short, Long: t.text})
	}
	return all
}

// topicsOf is the line that names the topics about a command's flags; all, below certspec itself.
func topicsOf(cmd *cobra.Command) string {
	var names []string
	for _, t := range topics {
		if !cmd.HasParent() || slices.ContainsFunc(strings.Fields(t.flags), func(name string) bool {
			return cmd.Flags().Lookup(name) != nil
		}) {
			names = append(names, t.name)
		}
	}
	if names == nil {
		return ""
	}
	return "certspec help " + strings.Join(names, "|") + ": what several commands share.\n"
}
