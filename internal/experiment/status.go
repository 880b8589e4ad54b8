package experiment

import "slices"

// Progress is how much of a table is done.
type Progress struct {
	Table string         `json:"table"`
	Done  int            `json:"done"`
	Jobs  int            `json:"jobs"`
	Lines []lineProgress `json:"lines"`
	// Failed are models of the table that cannot be made.
	Failed []Failure `json:"failed,omitempty"`
}

// lineProgress is that of one line.
type lineProgress struct {
	Title   string `json:"title"`
	Models  int    `json:"models"`
	ToTrain int    `json:"to_train"` // of the models; the others are adapted to each cell, or were made elsewhere
	Trained int    `json:"trained"`
	Done    int    `json:"done"` // of what is measured
	Jobs    int    `json:"jobs"`
}

// Status says what is done of all tables of a folder.
func Status(folder string) (*Manifest, []Progress, error) {
	m, err := ReadManifest(folder)
	if err != nil {
		return nil, nil, err
	}
	failures, err := m.Failures(folder)
	if err != nil {
		return nil, nil, err
	}
	var all []Progress
	for i := range m.Tables {
		t := &m.Tables[i]
		p := Progress{Table: t.Name, Lines: []lineProgress{}}
		for _, l := range t.Lines {
			jobs, err := jobsOf(m, folder, t, []tableLine{l}, true)
			if err != nil {
				return nil, nil, err
			}
			for _, f := range failures {
				if slices.Contains(l.Models, f.Model) {
					p.Failed = append(p.Failed, f)
				}
			}
			line := lineProgress{Title: l.Title, Models: len(l.Models)}
			for _, j := range jobs {
				done, err := Done(m, folder, j)
				if err != nil {
					return nil, nil, err
				}
				if j.Kind == trainJob {
					if slices.Contains(l.Models, j.Model.Name) {
						line.ToTrain++
						if done {
							line.Trained++
						}
					}
					continue
				}
				line.Jobs++
				if done {
					line.Done++
				}
			}
			p.Done, p.Jobs = p.Done+line.Done, p.Jobs+line.Jobs
			p.Lines = append(p.Lines, line)
		}
		all = append(all, p)
	}
	return m, all, nil
}
