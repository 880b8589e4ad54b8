package nb

import (
	"fmt"
	"reflect"
)

func tabulate(sources []any) (*Tabular, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("nb.Table: nothing to make a table of")
	}
	if len(sources) == 1 {
		if t, ok := sources[0].(*Tabular); ok {
			return t, nil
		}
		if v := reflect.ValueOf(sources[0]); isTable(v.Type()) {
			return structs(v), nil
		}
	}
	return nil, fmt.Errorf("nb.Table: a certification run or a slice of structs expected, not %T", sources[0])
}
