package certify

import (
	"strconv"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// topScores is the value of --keep-scores that keeps the largest score of each noise sample.
const topScores = "top"

// keptScores is the value of --keep-scores: a number of cells, or topScores.
type keptScores struct{ *rs.Options }

func (k keptScores) Set(text string) error {
	if text == topScores {
		k.Scores, k.TopScores = ledger.MaxScoreCells, true
		return nil
	}
	cells, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	k.Scores, k.TopScores = cells, false
	return nil
}

func (k keptScores) String() string {
	switch {
	case k.Options == nil || k.Scores == 0:
		return "0"
	case k.TopScores:
		return topScores
	}
	return strconv.Itoa(k.Scores)
}

func (keptScores) Type() string { return "cells" }
