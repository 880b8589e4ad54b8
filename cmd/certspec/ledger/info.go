package ledger

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Info is the output of "ledger info".
type Info struct {
	File        string        `json:"file"`
	Header      ledger.Header `json:"header"`
	Images      int           `json:"images"`  // that the ledger has when it is closed
	Decided     int           `json:"decided"` // images
	Looks       int           `json:"looks"`
	Passes      int           `json:"passes"` // noise samples behind the looks
	Misses      int           `json:"misses"`
	Provisional int           `json:"provisional"` // blocks
	Torn        bool          `json:"torn"`        // bytes behind the last whole line are ignored
	Closed      bool          `json:"closed"`
	Digest      string        `json:"digest,omitempty"`
	RadiusCap   float64       `json:"radius_cap"`
	Abstained   int           `json:"abstained"`
	ACR         *float64      `json:"acr"` // null where no label is known
}

// infoOptions holds the values of the flags of "ledger info".
type infoOptions struct {
	json *bool
}

func infoCommand() *cobra.Command {
	var o infoOptions
	cmd := &cobra.Command{
		Use:     "info FILE",
		Short:   "Describe a ledger: its run, its progress and its claims",
		Example: "  certspec ledger info out/fmnist-s025.ledger",
		Args:    cli.OneLedger,
	}
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *infoOptions) run(cmd *cobra.Command, args []string) error {
	i, err := describe(args[0])
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), i)
	}
	return i.print(cmd.OutOrStdout())
}

func describe(file string) (*Info, error) {
	run, err := rs.Open(file)
	if err != nil {
		return nil, err
	}
	scan, err := ledgerio.Scan(file)
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	i := &Info{
		File: file, Header: run.Header, Images: run.Images(), Decided: len(run.Rows),
		Closed: run.Digest != "", Digest: run.Digest, RadiusCap: run.RadiusCap(), Abstained: run.Abstained(),
	}
	begun := 0
	for looks, err := range scan.Images() {
		if err != nil {
			return nil, err
		}
		begun++
		i.Looks += len(looks)
		for _, look := range looks {
			i.Passes += (look.To - look.From) * run.Header.Block
			i.Misses += look.Misses
		}
	}
	if i.Closed {
		i.Decided = begun
	}
	for r, err := range scan.All() {
		if err != nil {
			return nil, err
		}
		if r.Kind == ledgerio.ProvisionalLine {
			i.Provisional += r.Look.To - r.Look.From
		}
	}
	i.Torn = scan.Torn()
	if acr := run.ACR(); acr.Images > 0 {
		i.ACR = &acr.Value
	}
	return i, nil
}

func (i *Info) print(out io.Writer) error {
	h := &i.Header
	w := cli.Columns(out)
	line := func(name, format string, args ...any) { cli.Fprintf(w, name+"\t"+format+"\n", args...) }
	line("ledger", "%s, format %d, begun by certspec %s", i.File, h.Version, h.Program.Version)
	line("model", "%s, %d classes of %v, %s", h.Model.Name, h.Model.Classes, h.Model.Shape, h.Model.Identity.Weights)
	line("ran on", "%s", engineText(h.Model.Identity))
	line("data", "%s, %s images, %s", h.Data.Name, printable.Count(h.Data.Images), h.Data.Digest)
	if s := h.Shard; s != nil {
		line("shard", "%d of %d by %s, counted from 0: a part of the run, to be merged", s.Index, s.Count, s.By)
	}
	law := "sound in floating point"
	if !h.Noise.Sound() {
		law = "sound in real arithmetic only"
	}
	line("noise", "σ = %g, %s (%s)", h.Sigma, h.Noise, law)
	seed := "derived from model, data and settings"
	if h.SeedChosen {
		seed = "chosen by the user"
	}
	line("seed", "%d, %s", h.Seed, seed)
	looks := h.Rule.Looks
	if h.Rule.Name == rs.Anytime {
		line("rule", "%s: %d noise samples choose the class, then as many as raise radii most, in blocks of %d; a "+
			"larger budget goes on", h.Rule.Name, h.Selection, h.Block)
	} else {
		line("rule", "%s: %d noise samples choose the class, then at most %s in %d planned look(s), in blocks of %d",
			h.Rule.Name, h.Selection, printable.Count(looks[len(looks)-1].Samples), len(looks), h.Block)
	}
	if len(h.Rule.Targets) > 0 {
		line("radii", "%d from %g to %g are tested", len(h.Rule.Targets), h.Rule.Targets[0].Radius,
			h.Rule.Targets[len(h.Rule.Targets)-1].Radius)
	}
	line("budget", "α = %g for each image; %s", h.Alpha, h.Rule.Budget)
	line("work", "%s of %s images decided, %s looks, %s noise samples, %s misses", printable.Count(i.Decided),
		printable.Count(i.Images), printable.Count(i.Looks), printable.Count(i.Passes), printable.Count(i.Misses))
	if h.Scores != "" {
		line("scores", "%s, in %s: certspec calib reads them", h.Scores, scorefile.Path(i.File))
	}
	if i.Provisional > 0 {
		line("provisional", "%d blocks of looks in progress", i.Provisional)
	}
	if i.Torn {
		line("torn", "the end of the file was cut off; certify computes it again")
	}
	switch {
	case !i.Closed:
		line("claims", "none: not closed; the same certify goes on")
		return w.Flush()
	case h.Shard != nil && h.Shard.By == ledger.ShardBlocks:
		line("claims", "none: those of the merged run follow from all shards")
	case i.ACR == nil:
		line("claims", "%s images, %d abstained, no labels; no radius can exceed %.4f", printable.Count(i.Decided),
			i.Abstained, i.RadiusCap)
	default:
		line("claims", "%s images, %d abstained, average certified radius %.4f; no radius can exceed %.4f",
			printable.Count(i.Decided), i.Abstained, *i.ACR, i.RadiusCap)
	}
	line("digest", "%s, matches", i.Digest)
	return w.Flush()
}
