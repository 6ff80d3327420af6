package policy

import (
	"reflect"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// A rule can tell all that a user can ask for: each field of the request changes the value of a variable.
func TestRequestIsInVariables(t *testing.T) {
	differ := func(a, b *core.Request) bool {
		of := func(r *core.Request) *evaluation {
			return &evaluation{facts: &engine.Facts{Job: core.Job{Request: *r}}}
		}
		for _, variable := range variables {
			if !of(a).valueOf(variable).RawEquals(of(b).valueOf(variable)) {
				return true
			}
		}
		return false
	}
	for i := range reflect.TypeFor[core.Request]().NumField() {
		var none, asked core.Request
		name := reflect.TypeFor[core.Request]().Field(i).Name
		switch field := reflect.ValueOf(&asked).Elem().Field(i); field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(1)
		case reflect.Uint8:
			field.SetUint(1)
		case reflect.Array:
			asked.Limits[core.TXQ].Max = new(uint16)
		default:
			if name == "Warnings" { // for the user alone
				continue
			}
			t.Fatalf("core.Request.%s: this test cannot set a %s", name, field.Kind())
		}
		if !differ(&none, &asked) {
			t.Errorf("core.Request.%s: no variable has it; give variables a row for it", name)
		}
	}
}
