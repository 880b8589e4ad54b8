package backend

// Listed is a backend that was found, usable or not.
type Listed struct {
	Engine  string `json:"engine"`
	Device  string `json:"device"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Usable  bool   `json:"usable"`
	Problem string `json:"problem,omitempty"` // why it is not usable
	Chosen  bool   `json:"chosen"`            // what Open("") takes
}

// List finds the backends of this machine, best first, and tries each plugin.
func List() ([]Listed, error) {
	chosen, err := Open("")
	if err != nil {
		return nil, err
	}
	var list []Listed
	if xlaLinked {
		for _, plugin := range findPlugins("") {
			list = append(list, listed(XLA+":"+plugin.Path, Listed{Engine: XLA, Device: plugin.Device,
				Path: plugin.Path}))
		}
	} else {
		list = append(list, Listed{Engine: XLA, Device: "cpu", Problem: notLinked})
	}
	list = append(list, listed(Go, Listed{Engine: Go, Device: "cpu"}))
	found := false
	for i := range list {
		list[i].Chosen = list[i].Engine == chosen.Engine && list[i].Path == chosen.Path
		found = found || list[i].Chosen
	}
	if !found { // a plugin outside the usual places, named by the environment
		list = append([]Listed{{Engine: chosen.Engine, Device: chosen.Device, Path: chosen.Path,
			Version: chosen.Version, Usable: true, Chosen: true}}, list...)
	}
	return list, nil
}

func listed(choice string, l Listed) Listed {
	b, err := Open(choice)
	if err != nil {
		l.Problem = err.Error()
		return l
	}
	l.Device, l.Version, l.Usable = b.Device, b.Version, true
	return l
}
