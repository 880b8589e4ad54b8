package experiment

import "context"

// runner does the jobs of a measure, and leaves their results in the folder, whole or not at all.
type runner interface {
	Do(ctx context.Context, r *Runner, j Job) error
}

// The runners of each measure, with its settings.
type (
	radiusRunner           struct{}
	calibrationRunner      struct{ *calibrationMeasure }
	confidenceAttackRunner struct{ *attackMeasure }
	agreementRunner        struct{}
	heatMapRunner          struct{ *heatmapMeasure }
	evaluationRunner       struct{ *evaluateMeasure }
	boundRunner            struct{ *boundMeasure }
	attackRunner           struct{ *adversaryMeasure }
	recordRunner           struct{ *recordMeasure }
)

// runners are those of measures by their names.
var runners = map[string]func(Measure) runner{
	"radius":      func(Measure) runner { return radiusRunner{} },
	"calibration": func(m Measure) runner { return calibrationRunner{m.(*calibrationMeasure)} },
	"ace":         func(m Measure) runner { return confidenceAttackRunner{m.(*attackMeasure)} },
	"agreement":   func(Measure) runner { return agreementRunner{} },
	heatmapKey:    func(m Measure) runner { return heatMapRunner{m.(*heatmapMeasure)} },
	"evaluate":    func(m Measure) runner { return evaluationRunner{m.(*evaluateMeasure)} },
	"bound":       func(m Measure) runner { return boundRunner{m.(*boundMeasure)} },
	"attack":      func(m Measure) runner { return attackRunner{m.(*adversaryMeasure)} },
	"record":      func(m Measure) runner { return recordRunner{m.(*recordMeasure)} },
}
