package local

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

var dialect = request.Dialect{Command: "--options "}

// ParseOptions reads what a user asked for, each element a NAME or NAME=VALUE or several with commas between.
func ParseOptions(given []string) (core.Request, error) { return dialect.ParseText(given...) }
