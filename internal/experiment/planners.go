package experiment

// planner says what is to be done for a measure.
type planner interface {
	// Jobs are those of one model of a table, with Kind and Model set; none where there is nothing to do for it.
	Jobs(p *Place, m *Model) ([]Job, error)
	// Done reports whether the results of a job are in the folder.
	Done(p *Place, j Job) (bool, error)
	// Cost adds what a job takes.
	Cost(c *Costs, j Job) error
}

// The jobs of each measure, with its settings.
type (
	radiusJobs           struct{ radiusMeasure }
	calibrationJobs      struct{ *calibrationMeasure }
	confidenceAttackJobs struct{ *attackMeasure }
	agreementJobs        struct{}
	heatMapJobs          struct{ *heatmapMeasure }
	evaluationJobs       struct{ *evaluateMeasure }
	boundJobs            struct{ *boundMeasure }
	attackJobs           struct{ *adversaryMeasure }
	recordJobs           struct{ *recordMeasure }
)

// planners are the jobs of measures by their names.
var planners = map[string]func(Measure) planner{
	"radius":      func(m Measure) planner { return radiusJobs{m.(radiusMeasure)} },
	"calibration": func(m Measure) planner { return calibrationJobs{m.(*calibrationMeasure)} },
	"ace":         func(m Measure) planner { return confidenceAttackJobs{m.(*attackMeasure)} },
	"agreement":   func(Measure) planner { return agreementJobs{} },
	heatmapKey:    func(m Measure) planner { return heatMapJobs{m.(*heatmapMeasure)} },
	"evaluate":    func(m Measure) planner { return evaluationJobs{m.(*evaluateMeasure)} },
	"bound":       func(m Measure) planner { return boundJobs{m.(*boundMeasure)} },
	"attack":      func(m Measure) planner { return attackJobs{m.(*adversaryMeasure)} },
	"record":      func(m Measure) planner { return recordJobs{m.(*recordMeasure)} },
}

func plannerOf(m Measure) planner { return planners[m.Name()](m) }
