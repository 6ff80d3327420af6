package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/fulltest"
	"github.com/weft-hpc/weft/policy/facts"
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

// A fact that people write has the name of the variable that has its value.
func TestFactsBearTheNamesOfVariables(t *testing.T) {
	job := fulltest.Value[core.Job]()
	job.Request.Off, job.Request.JobVNI, job.Request.SingleNode, job.Request.Collectives = false, false, false, false
	job.Request.Exact = false
	job.Placements = []core.Placement{{Hosts: "7", Nodes: 7, Cores: 1}} // a hostlist that is also a number
	clear(job.Request.Limits[1:])                                       // facts have no order of resources
	for _, only := range []*bool{
		&job.Request.Off, &job.Request.JobVNI, &job.Request.SingleNode, &job.Request.Collectives, &job.Request.Exact,
	} {
		*only = true
		text, err := json.Marshal(facts.Of(job))
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]any
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		request := written["request"].(map[string]any)
		request["limits"] = slices.Collect(maps.Keys(request["limits"].(map[string]any))) // the variable has their names
		e := &evaluation{facts: &engine.Facts{Job: job}}
		for name, variable := range variables {
			fact, asked := strings.CutPrefix(name, "job.request.")
			object := request
			if !asked {
				fact, asked = strings.CutPrefix(name, "job.")
				object = written
			}
			// A topology's; a sum over all nodes; another word for job.queue.
			if !asked || name == "job.spread" || name == "job.cores" || name == "job.partition" {
				continue
			}
			var value any
			switch of := variable.(type) {
			case truth:
				value, object[fact] = of(e), object[fact] == true
			case amount:
				value = of(e)
			case word:
				value = of(e)
			case list:
				value = of(e)
			case told[string]:
				value = *of(e)
			case told[int64]:
				value = *of(e)
			}
			if got, want := fmt.Sprint(object[fact]), fmt.Sprint(value); got != want {
				t.Errorf("%s is %s, and facts have %s", name, want, got)
			}
		}
		*only = false
	}
}
