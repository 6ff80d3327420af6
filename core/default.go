package core

import "reflect"

// OrDefault is given, a struct, with the value of defaults in each field that is zero. All fields are exported.
func OrDefault[T any](given, defaults T) T {
	to, from := reflect.ValueOf(&given).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		if f := to.Field(i); f.IsZero() {
			f.Set(from.Field(i))
		}
	}
	return given
}
