package policy

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"github.com/weft-hpc/weft/hclfile"
)

// place is where something stands, as a user is told it: the file without its folder.
type place struct {
	file string
	line int
}

func at(file *hclfile.File, r hcl.Range) place { return place{filepath.Base(file.Name), r.Start.Line} }

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// written is an attribute in a file, for a trace.
type written struct {
	place
	text string
}
