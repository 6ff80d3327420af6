package install

import "fmt"

// Level is how much a finding weighs.
type Level string

// The levels. One refusal keeps Weft out.
const (
	Fine    Level = "ok"
	Warning Level = "warning"
	Refusal Level = "refusal"
)

// Finding is one thing that slurm.conf or this host says about Weft.
type Finding struct {
	Level   Level  `json:"level"`
	Setting string `json:"setting"`
	File    string `json:"file,omitempty"` // where it is set; "" where it is not
	Line    int    `json:"line,omitempty"`
	What    string `json:"what"`
	Remedy  string `json:"remedy,omitempty"`
}

// Place is where the finding's setting stands, or "" where it has its default.
func (f Finding) Place() string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// findings gathers them.
type findings []Finding

func (f *findings) add(level Level, s setting, key, mend, format string, args ...any) {
	*f = append(*f, Finding{Level: level, Setting: key, File: s.File, Line: s.First, What: fmt.Sprintf(format, args...), Remedy: mend})
}

func (f findings) refused() bool {
	for _, x := range f {
		if x.Level == Refusal {
			return true
		}
	}
	return false
}
