//go:build cell && unix

package model

import (
	"context"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/listen"
	"github.com/certspec/certspec/internal/model/remote"
)

func open(path string, in ...Input) (network, error) {
	return remote.Open(listen.Context(), path, in, listen.Progress())
}

func fit(ctx context.Context, path string, data *dataset.Dataset, r Recipe) error {
	test := r.Test
	r.Test = nil
	return remote.Train(ctx, path, data, test, r, r.Options, listen.Progress())
}
