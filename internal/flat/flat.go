// Package flat copies between structs of options that have fields of the same names.
package flat

import (
	"fmt"
	"reflect"
	"slices"
)

// Copy sets the exported fields of the struct that to points to, where from has fields of the same names. Structs of
// options are flat, so that a literal can set each field; those of a part go over to it this way.
//
// It panics if a field has another type there.
func Copy(to, from any) {
	into, of := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	for i := range into.NumField() {
		if f := into.Type().Field(i); f.IsExported() {
			if value := of.FieldByName(f.Name); value.IsValid() {
				into.Field(i).Set(value)
			}
		}
	}
}

// Check says which exported fields of part a struct lacks, or has with another type, but for some.
func Check(whole, part any, but ...string) error {
	has, wants := reflect.TypeOf(whole), reflect.TypeOf(part)
	for i := range wants.NumField() {
		f := wants.Field(i)
		if !f.IsExported() || slices.Contains(but, f.Name) {
			continue
		}
		if there, ok := has.FieldByName(f.Name); !ok || there.Type != f.Type {
			return fmt.Errorf("%v has no field %s %v, but %v does", has, f.Name, f.Type, wants)
		}
	}
	return nil
}
