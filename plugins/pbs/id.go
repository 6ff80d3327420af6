package pbs

import (
	"strings"

	"github.com/weft-hpc/weft/core"
)

// checkJob refuses what is no id of a job that runs: a number, for a task of an array [index] behind it, and the name of the server that took it, as in
// 42.pbs1 and 43[7].pbs1.example.org. The server's name stays: a job that came from another server keeps it, and two servers count from one. An array itself,
// 43[].pbs1, never runs. An id becomes an argument of PBS's commands.
func checkJob(id string) error {
	bad := func() error {
		return core.Errorf(core.BadCall, "job id %q: it is none that PBS gives to a job that runs", core.Clip(id)).
			WithRemedy("the hook must be run by PBS; a person writes the id as qstat -f does, with the server's name")
	}
	if len(id) > core.MaxJobID {
		return bad()
	}
	seq, server, named := strings.Cut(id, ".")
	if !named || core.CheckName("server", server, core.MaxNodeName) != nil {
		return bad()
	}
	number, index, task := strings.Cut(seq, "[")
	if !digits(number) || task && (!strings.HasSuffix(index, "]") || !digits(strings.TrimSuffix(index, "]"))) {
		return bad()
	}
	return nil
}

// isArray reports whether an id is that of a whole array, which has tasks and no nodes.
func isArray(id string) bool {
	seq, _, _ := strings.Cut(id, ".")
	return strings.HasSuffix(seq, "[]")
}

// maxDigits bounds a number in an id: PBS counts to 999999999999.
const maxDigits = 12

func digits(s string) bool {
	return s != "" && len(s) <= maxDigits && strings.Trim(s, "0123456789") == ""
}
