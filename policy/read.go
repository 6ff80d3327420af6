package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/hclfile"
)

// Suffixes of file names in a policy's folder.
const (
	Suffix     = ".policy.hcl"
	TestSuffix = "_test.policy.hcl" // tests of the policy, which are no part of it
)

// Read reads a policy's files from its folder, in the order of their names.
func Read(dir string) ([]hclfile.Source, []hclfile.Finding) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []hclfile.Finding{{Severity: hclfile.Error, Summary: "the policy's folder cannot be read: " + err.Error(), File: dir,
			Detail: `config.hcl says where it is: policy = "policy", as seen from config.hcl.`}}
	}
	var files []hclfile.Source
	var findings []hclfile.Finding
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, Suffix) || strings.HasSuffix(name, TestSuffix) || strings.HasPrefix(name, ".") {
			continue
		}
		if len(files) == MaxFiles {
			return files, append(findings, hclfile.Finding{Severity: hclfile.Error, Summary: fmt.Sprintf("there are more than %d policy files", MaxFiles), File: dir})
		}
		source, more := hclfile.Read(filepath.Join(dir, name))
		findings = append(findings, more...)
		if more == nil {
			files = append(files, source)
		}
	}
	if len(files) == 0 && findings == nil {
		findings = []hclfile.Finding{{Severity: hclfile.Error, Summary: "there is no policy file in the folder", File: dir,
			Detail: "A policy file ends in " + Suffix + "."}}
	}
	return files, findings
}
