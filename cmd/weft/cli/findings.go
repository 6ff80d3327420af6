package cli

import (
	"os"
	"time"

	"golang.org/x/term"

	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
)

// ReadSite reads config.hcl and its policy, and shows everything that is wrong with them in one run. quarantine, when above 0, replaces that of every pool.
func ReadSite(path string, quarantine time.Duration) (*settings.Site, error) {
	s, findings := settings.Read(path, quarantine)
	Show(findings)
	if s == nil {
		return nil, Usage("%s and its policy cannot be used", path)
	}
	return s, nil
}

// Unusable shows findings, for which file cannot be used.
func Unusable(file string, findings []hclfile.Finding) error {
	Show(findings)
	return Usage("%s cannot be used", file)
}

// Show writes findings to standard error. It waits at most 2 s for the reader.
func Show(findings []hclfile.Finding) {
	if len(findings) > 0 {
		_ = hclfile.Text(stderr(lastWords), hclfile.Sort(findings), term.IsTerminal(int(os.Stderr.Fd())))
	}
}
