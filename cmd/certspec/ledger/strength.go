package ledger

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs/strength"
)

// strength asks the model again about the images of a file of "certspec prove".
func (o *replayOptions) strength(cmd *cobra.Command, path string) error {
	for _, name := range []string{"image", "blocks", "workers", "uncompared"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with %s, a file of certspec prove: every strength of an image is asked about", name,
				path)
		}
	}
	f, err := strength.Read(path)
	if err != nil {
		return err
	}
	o.input.Images.Recorded = path
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := strength.Replay(cmd.Context(), f, in.Model, in.Data, o.Count, cli.Progress())
	if err != nil {
		return err
	}
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), r)
	} else {
		_, err = cli.Fprintf(cmd.OutOrStdout(), "%d images asked again: %d equal\n", r.Images, r.Images-len(r.Different))
	}
	if err == nil && len(r.Different) > 0 {
		err = fmt.Errorf("%s: images %v came out otherwise", path, r.Different)
		if !r.EqualIdentity {
			err = fmt.Errorf("%w; the file was made on %s, this ran on another engine, where images between two classes "+
				"may flip", err, engineText(f.Header.Model.Identity))
		}
	}
	return err
}
