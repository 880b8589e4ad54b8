package ledger

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/journal"
)

// MaxScoreCells is the largest number of cells that scores are counted in.
const MaxScoreCells = 1000

const (
	scoresScheme = "uniform/"
	topScheme    = "top/"
)

// ScoresScheme is the name in a header of scores that are counted in so many cells of equal width.
func ScoresScheme(cells int) string { return scoresScheme + strconv.Itoa(cells) }

// TopScoresScheme is the name in a header of the largest score of each noise sample, rescaled by TopScore.
func TopScoresScheme(cells int) string { return topScheme + strconv.Itoa(cells) }

// TopScores reports whether the scores beside the ledger are the largest of each noise sample, not those of a class.
func (h *Header) TopScores() bool { return strings.HasPrefix(h.Scores, topScheme) }

// ScoreCells is the number of cells that the scores beside the ledger are counted in.
//
// Errors: a header without scores, or with a scheme that this program does not know.
func (h *Header) ScoreCells() (int, error) {
	text, ok := strings.CutPrefix(h.Scores, scoresScheme)
	if h.TopScores() {
		text, ok = strings.CutPrefix(h.Scores, topScheme)
	}
	cells, err := strconv.Atoi(text)
	switch {
	case h.Scores == "":
		return 0, fmt.Errorf("the run kept no scores: certspec certify --keep-scores keeps them, in another ledger")
	case !ok || err != nil || text != strconv.Itoa(cells) || cells < 1 || cells > MaxScoreCells:
		return 0, fmt.Errorf("its scores are %s; this program knows %s1 to %s%d and %s1 to %s%d",
			journal.Quote([]byte(h.Scores)), scoresScheme, scoresScheme, MaxScoreCells, topScheme, topScheme,
			MaxScoreCells)
	}
	return cells, nil
}

// Scored reports whether scores belong to a look: the samples of the selection have none.
func (h *Header) Scored(l Look) bool { return l.From >= h.Selection/h.Block }
