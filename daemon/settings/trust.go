package settings

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

// believed is a file or a folder whose text a daemon believes.
type believed struct{ what, path string }

// believed are those of a daemon. Nothing needs to be there.
func (s *Site) believed(of config.Daemon) []believed {
	all := []believed{{"the configuration", s.Config.File}, {"the policy", s.Config.Policy}}
	for _, path := range within(s.Config.Policy, policy.Suffix) {
		all = append(all, believed{"the policy", path})
	}
	tls := s.tls(of)
	all = append(all, believed{"a certificate", tls})
	for _, path := range within(tls, ".crt") {
		all = append(all, believed{"a certificate", path})
	}
	for _, path := range within(tls, ".key") {
		all = append(all, believed{"a key", path})
	}
	if of == config.OfAgent {
		dir := s.Config.Agent.Dir
		return append(all, believed{"the run directory", dir}, believed{"the ledger", filepath.Join(dir, "ledger.db")})
	}
	dir := filepath.Dir(s.Config.Server.Socket)
	all = append(all, believed{"the run directory", dir})
	if e := s.Config.Server.Etcd; e != nil {
		for _, b := range []believed{{"etcd's certificates", e.TLS}, {"etcd's password", e.PasswordFile}} {
			if b.path != "" {
				all = append(all, b)
			}
		}
	}
	if s.Config.Server.OneFile() {
		all = append(all, believed{"the store", s.Config.Server.Store})
		all = append(all, believed{"the store's witness", s.Config.Server.Witness})
	}
	return all
}

// kept are the files in which a daemon of root notes what was done. None of them tells a daemon what to do, and some
// systems let a group write in /var/log: they stop no start, and the doctor warns.
func (s *Site) kept(of config.Daemon) (all []believed) {
	audit, history := s.Config.Agent.Audit, ""
	if of == config.OfServer {
		audit, history = s.Config.Server.Audit, s.Config.Server.History
	}
	for _, b := range []believed{{"the audit", audit}, {"the history", history}} {
		if b.path != "" && os.Geteuid() == 0 {
			all = append(all, b)
		}
	}
	return all
}

// Distrusted finds the files that a daemon believes although another user than root could change them, and the keys
// that another user could use. Each is an Error. A daemon of another user can do no more than that user, so only its
// keys count.
func (s *Site) Distrusted(of config.Daemon) []hclfile.Finding {
	var out []hclfile.Finding
	seen := map[string]bool{}
	add := func(what string, d *file.Distrust) {
		if d != nil && !seen[d.Path] {
			seen[d.Path] = true
			f := hclfile.Finding{Severity: hclfile.Error, Summary: what + ": " + d.Why, Detail: d.Remedy, File: d.Path}
			out = append(out, f)
		}
	}
	for _, path := range within(s.tls(of), ".key") {
		add("a key", file.Secret(path))
	}
	if os.Geteuid() == 0 {
		for _, b := range s.believed(of) {
			add(b.what+" depends on it", file.Trust(b.path))
		}
	}
	return hclfile.Sort(out)
}

func (s *Site) tls(of config.Daemon) string {
	if of == config.OfAgent {
		return s.Config.Agent.TLS
	}
	return s.Config.Server.TLS
}

// within are the paths of the files of a folder whose names end in suffix; none where the folder cannot be read, which
// its reader reports.
func within(folder, suffix string) (paths []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}
