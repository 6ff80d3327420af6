package pbs

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// prefix begins the names of the resources by which a job asks Weft for something: qsub -l slingshot_KEY=VALUE.
const prefix = "slingshot_"

var dialect = request.Dialect{Command: "-l ", Prefix: prefix, True: "true"}

// Installed are the resources of the PBS server by which users ask.
func Installed() (all []string) {
	options, _ := dialect.Options(context.Background())
	for _, o := range options {
		all = append(all, o.Names...)
	}
	return all
}

// parseWanted reads what a job asks for: the values of its resources by KEY.
func parseWanted(wanted map[string]string) (core.Request, error) {
	var all []request.Given
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		all = append(all, request.Given{Name: key, Value: wanted[key]})
	}
	return dialect.Parse(all)
}
