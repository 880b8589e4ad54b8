package experiment

import "github.com/certspec/certspec/internal/table"

// reader reads what a measure left in a folder.
type reader interface {
	// Fill reads the results of the folder into the lines of a table, by FilledLine.Found, and
	// gives notes for its caption.
	Fill(f *TableBuilder, out *Filled) (notes []string, err error)
	// Tables are what is printed: columns and head are what stands before the figures of a line,
	// add takes a table with its title.
	Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(t *table.Table, title string))
}

// The readers of each measure, with its settings.
type (
	radiusReader           struct{ radiusMeasure }
	calibrationReader      struct{ *calibrationMeasure }
	confidenceAttackReader struct{ *attackMeasure }
	agreementReader        struct{}
	heatMapReader          struct{}
	evaluationReader       struct{}
	boundReader            struct{ *boundMeasure }
	attackReader           struct{ *adversaryMeasure }
	recordReader           struct{ *recordMeasure }
)

// readers are those of measures by their names.
var readers = map[string]func(Measure) reader{
	"radius":      func(m Measure) reader { return radiusReader{m.(radiusMeasure)} },
	"calibration": func(m Measure) reader { return calibrationReader{m.(*calibrationMeasure)} },
	"ace":         func(m Measure) reader { return confidenceAttackReader{m.(*attackMeasure)} },
	"agreement":   func(Measure) reader { return agreementReader{} },
	heatmapKey:    func(Measure) reader { return heatMapReader{} },
	"evaluate":    func(Measure) reader { return evaluationReader{} },
	"bound":       func(m Measure) reader { return boundReader{m.(*boundMeasure)} },
	"attack":      func(m Measure) reader { return attackReader{m.(*adversaryMeasure)} },
	"record":      func(m Measure) reader { return recordReader{m.(*recordMeasure)} },
}

func readerOf(m Measure) reader { return readers[m.Name()](m) }
