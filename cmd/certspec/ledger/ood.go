package ledger

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/strength"
)

// verifyOOD checks the form of each line of a file, and derives claims and digest again.
func verifyOOD(path string) (*record.File, error) {
	f, err := record.Read(path)
	if err == nil && f.Claims == nil {
		err = fmt.Errorf("%s is not finished: it has %d of %d images", path, len(f.Lines), f.Header.Data.Images)
	}
	return f, err
}

// verify derives again what follows from the lines of a file.
func verify(ctx context.Context, path string) (v rs.Verified, text string, err error) {
	if strength.Is(path) {
		f, err := strength.Read(path)
		if err == nil && f.Claims == nil {
			err = fmt.Errorf("%s is not finished: it has %d of %d images", path, len(f.Lines), f.Header.Data.Images)
		}
		if err != nil {
			return v, "", err
		}
		v = rs.Verified{Images: len(f.Lines), Digest: f.Digest}
		return v, fmt.Sprintf("%d images, %s", v.Images, v.Digest), nil
	}
	if !record.Is(path) {
		v, err = rs.Verify(ctx, path)
		return v, fmt.Sprint(v), err
	}
	f, err := verifyOOD(path)
	if err != nil {
		return v, "", err
	}
	v = rs.Verified{Images: len(f.Lines), Digest: f.Digest}
	return v, fmt.Sprintf("%d images, %s", v.Images, v.Digest), nil
}

// replayedOOD is the output of "ledger replay --json" of a file of "certspec ood".
type replayedOOD struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Images int    `json:"images"`
	// images whose bounds, or in a file of attacks whose own confidences, were computed again
	Checked int `json:"checked"`
}

// ood computes bounds again, in a file of attacks the confidences of the images themselves.
func (o *replayOptions) ood(cmd *cobra.Command, path string) error {
	for _, name := range []string{"image", "blocks", "workers", "exec", "engine"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with %s, a file of certspec ood: its bounds are computed from the layers", name,
				path)
		}
	}
	m, err := verifyOOD(path)
	if err != nil {
		return err
	}
	n, err := o.boundedNetwork()
	if err != nil {
		return err
	}
	data, err := dataset.OpenLike(m.Header.Data.Name, m.Header.Data.Name)
	if o.input.Images.Name != "" {
		o.input.Images.Recorded = path
		data, err = o.input.Images.Open()
	}
	if err != nil {
		return err
	}
	v := replayedOOD{File: path, Digest: m.Digest, Images: len(m.Lines)}
	if v.Checked, err = ood.Verify(cmd.Context(), m, n, data, o.Count); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), v)
	}
	what := "bounds of %d images"
	if m.Header.Attack != nil {
		what = "confidences of %d images themselves, not what attacks found,"
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: "+what+" computed again: equal\n", v.File, v.Checked)
	return err
}

// boundedNetwork opens what bounds are of.
func (o *replayOptions) boundedNetwork() (ood.Network, error) {
	if path := o.input.Model.Path; intnet.IsName(path) {
		return quantize.Open(path)
	}
	opened, n, err := o.input.Model.Network(o.uncompared)
	if err != nil {
		return nil, err
	}
	return n, opened.Close()
}
