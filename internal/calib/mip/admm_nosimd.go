//go:build !goexperiment.simd || !amd64

package mip

// vector is the switch of the vector form, which this build does not have.
var vector = false

func (s *iterate) assignVector(*pack) { panic("mip: no vector form in this build") }
func (s *iterate) confideVector()     { panic("mip: no vector form in this build") }
