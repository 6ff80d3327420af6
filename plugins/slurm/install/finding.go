package install

import (
	"fmt"

	"github.com/weft-hpc/weft/plan"
)

// findings gathers them.
type findings []plan.Finding

func (f *findings) add(level plan.Level, s setting, key, remedy, format string, args ...any) {
	*f = append(*f, plan.Finding{
		Level: level, Setting: key, File: s.File, Line: s.First, What: fmt.Sprintf(format, args...), Remedy: remedy,
	})
}
