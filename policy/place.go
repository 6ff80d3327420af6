package policy

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/hclfile"
)

// place is where something stands, as a user is told it: the file without its folder.
type place struct {
	file string
	line int
}

func at(file *hclfile.File, r hcl.Range) place { return place{filepath.Base(file.Name), r.Start.Line} }

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// written is an attribute of a block in a file, for a trace.
func written(file *hclfile.File, attr *hclsyntax.Attribute, block Place) Setting {
	where := at(file, attr.NameRange)
	block.File, block.Line = where.file, where.line
	return Setting{block, excerpt(file.Text, attr.Expr.Range())}
}
