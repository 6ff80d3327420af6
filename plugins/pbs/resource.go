package pbs

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

// prefix begins the names of the resources by which a job asks Weft for something: qsub -l slingshot_KEY=VALUE.
const prefix = "slingshot_"

var dialect = request.Dialect{Command: "-l ", Prefix: prefix, True: "true"}

const kindBoolean = "boolean"

// Installed are the resources of the PBS server by which users ask, in the words of qmgr's `create resource`.
func Installed() (all []install.Resource) {
	options, _ := dialect.Options(context.Background())
	for _, o := range options {
		kind := "long"
		switch o.Value {
		case dialect.True:
			kind = kindBoolean
		case "CLASS:CLASS":
			kind = "string"
		}
		for _, name := range o.Names {
			all = append(all, install.Resource{Name: name, Type: kind})
		}
	}
	return all
}

// unread is the text of a boolean that PBS's Python module cannot read. The words of its user are gone by then
// (pbs_bool in _base_types.py of 23.06.06).
const unread = "-1"

// parseWanted reads what a job asks for: the values of its resources by KEY.
func parseWanted(wanted map[string]string) (core.Request, error) {
	var all []request.Given
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		is := func(r install.Resource) bool { return r.Name == prefix+key && r.Type == kindBoolean }
		if wanted[key] == unread && slices.ContainsFunc(Installed(), is) {
			return core.Request{}, core.Errorf(core.BadRequest,
				"-l %s%s: its value is neither true nor false", prefix, key).
				WithRemedy("write -l " + prefix + key + "=true")
		}
		all = append(all, request.Given{Name: key, Value: wanted[key]})
	}
	return dialect.Parse(all)
}
