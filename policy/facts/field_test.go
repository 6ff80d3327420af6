package facts_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/policy/facts"
)

// leftOut are the fields of core.Job that nobody writes down for policy, and why.
var leftOut = map[string]string{
	"Generation":       "policy decides alike on every run of a job",
	"Submitted":        "policy decides alike whenever a job was submitted",
	"Name":             "it is for people; policy never decides on it",
	"Gone":             "policy is not asked about a job that is over",
	"Placements.Nodes": "Hosts says how many they are",
	"Placements.Total": "policy says whether a job's share of a node bounds it, and the node how much that is",
}

// Each field of core.Job is written down and read back, or leftOut says why not.
func TestEveryFieldIsCarried(t *testing.T) {
	plain := func() core.Job { return core.Job{Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 1}}} }
	met := map[string]bool{}
	var visit func(path string, typ reflect.Type, at func(*core.Job) reflect.Value)
	visit = func(path string, typ reflect.Type, at func(*core.Job) reflect.Value) {
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				f, name := typ.Field(i), path
				if !f.Anonymous && name != "" {
					name += "."
				}
				if !f.Anonymous {
					name += f.Name
				}
				visit(name, f.Type, func(j *core.Job) reflect.Value { return at(j).Field(i) })
			}
		case reflect.Array:
			visit(path, typ.Elem(), func(j *core.Job) reflect.Value { return at(j).Index(0) })
		case reflect.Slice:
			visit(path, typ.Elem(), func(j *core.Job) reflect.Value {
				if v := at(j); v.Len() == 0 {
					v.Set(reflect.MakeSlice(typ, 1, 1))
				}
				return at(j).Index(0)
			})
		case reflect.Pointer:
			visit(path, typ.Elem(), func(j *core.Job) reflect.Value {
				at(j).Set(reflect.New(typ.Elem()))
				return at(j).Elem()
			})
		default:
			met[path] = true
			job := plain()
			change(t, path, at(&job))
			got, err := facts.Of(job).Job("n[1-8]")
			diff := cmp.Diff(job, got)
			if _, out := leftOut[path]; out != (diff != "") || err != nil {
				t.Errorf("%s: facts carry it: %t, leftOut has it: %t, %v\n%s", path, diff == "", out, err, diff)
			}
		}
	}
	visit("", reflect.TypeFor[core.Job](), func(j *core.Job) reflect.Value { return reflect.ValueOf(j).Elem() })
	for path := range leftOut {
		if !met[path] {
			t.Errorf("leftOut names %s, and core.Job has no such field", path)
		}
	}
}

// change gives a field another value than a plain job has.
func change(t *testing.T, path string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	default:
		t.Fatalf("%s is a %s: say here how to change it", path, v.Kind())
	}
}
