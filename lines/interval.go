package lines

import (
	"encoding/json"

	"github.com/certspec/certspec/resample"
)

// Interval is a pair of bounds; its JSON is [low, high].
type Interval struct{ resample.Interval }

// MarshalJSON writes [low, high].
func (i Interval) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{i.Low, i.High}) }

// UnmarshalJSON reads it.
func (i *Interval) UnmarshalJSON(text []byte) error {
	var ends [2]float64
	if err := json.Unmarshal(text, &ends); err != nil {
		return err
	}
	i.Low, i.High = ends[0], ends[1]
	return nil
}
