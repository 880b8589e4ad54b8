package spectral

import (
	"bufio"
	"fmt"
	"github.com/certspec/certspec/pixel"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ReadMap reads a map of H×W images from lines i, j, value, …, separated by tabs, behind one line of names. certspec
// spectral heatmap --out x.tsv writes them. The name is for errors.
//
// Errors: a line of another form; a frequency that images of these sides do not have, or that stands twice or not at
// all; a value that is not finite.
func ReadMap(name string, in io.Reader, height, width int) (*Map, error) {
	m := &Map{Height: height, Width: width}
	values := map[Frequency]float64{}
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		if number == 1 {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) < 3 {
			return nil, fmt.Errorf("spectral: %s:%d: %.40q; expected i, j and a value with tabs between", name, number,
				lines.Text())
		}
		u, err1 := strconv.Atoi(fields[0])
		v, err2 := strconv.Atoi(fields[1])
		value, err3 := strconv.ParseFloat(fields[2], 64)
		if err1 != nil || err2 != nil || err3 != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("spectral: %s:%d: %.40q; expected two whole numbers and a finite number", name,
				number, lines.Text())
		}
		if _, twice := values[Frequency{u, v}]; twice {
			return nil, fmt.Errorf("spectral: %s:%d: frequency (%d, %d) is there twice", name, number, u, v)
		}
		values[Frequency{u, v}] = value
		m.U, m.V = append(m.U, u), append(m.V, v)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("spectral: %s: %w", name, err)
	}
	for _, axis := range []*[]int{&m.U, &m.V} {
		slices.Sort(*axis)
		*axis = slices.Compact(*axis)
	}
	if err := checkGrid(pixel.Shape{Height: m.Height, Width: m.Width}, m.U, m.V); err != nil {
		return nil, fmt.Errorf("spectral: %s: %w", name, err)
	}
	for _, u := range m.U {
		for _, v := range m.V {
			value, found := values[Frequency{u, v}]
			if !found {
				return nil, fmt.Errorf("spectral: %s: frequency (%d, %d) is missing", name, u, v)
			}
			m.Values = append(m.Values, value)
		}
	}
	return m, nil
}
