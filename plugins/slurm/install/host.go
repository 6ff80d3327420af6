package install

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxScript bounds a hook file, in bytes, and maxNames the files of a folder.
const (
	maxScript = 64 << 10
	maxNames  = 4096
)

// host is this host's files.
type host struct{}

// text of a file, nil where there is none or where it is too long to be a hook file.
func (host) text(path string) []byte {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return nil
	}
	text, err := readFile(path)
	if err != nil {
		return nil
	}
	return text
}

// taken reports whether something of the name is there, be it a link that leads nowhere.
func (host) taken(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// there reports whether a program is.
func (host) there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// names of a folder's files, but for Weft's own; false where there is no such folder.
func (h host) names(dir string) ([]string, bool) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	var out []string
	for _, e := range all[:min(len(all), maxNames)] {
		if ours, _ := isSealed(h.text(filepath.Join(dir, e.Name()))); !ours {
			out = append(out, e.Name())
		}
	}
	return out, true
}

// ours are the hook files of Weft's in a folder.
func (h host) ours(dir string) []string {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range all[:min(len(all), maxNames)] {
		path := filepath.Join(dir, e.Name())
		if ours, _ := isSealed(h.text(path)); ours {
			out = append(out, path)
		}
	}
	return out
}

// guarded says who else could change what slurmd runs as root, or keep users from it: "" where nobody. A path that is not there yet counts by its folder.
func (host) guarded(path string) string {
	path = filepath.Clean(path)
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			if at == filepath.Dir(at) {
				return ""
			}
			continue
		}
		if why := loose(info); why != "" {
			return at + " " + why
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// loose says what of a file's owner and mode is not fit for a hook.
func loose(info fs.FileInfo) string {
	mode := info.Mode()
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()):
		return fmt.Sprintf("belongs to uid %d, which could change what slurmd runs as root", st.Uid)
	case mode.Perm()&0o022 != 0 && (!mode.IsDir() || mode&fs.ModeSticky == 0):
		return fmt.Sprintf("has mode %04o: others could change what slurmd runs as root", mode.Perm())
	case mode.IsDir() && mode.Perm()&0o001 == 0:
		return fmt.Sprintf("has mode %04o: TaskProlog runs as the job's user, who cannot enter it", mode.Perm())
	case !mode.IsDir() && mode.Perm()&0o005 != 0o005:
		return fmt.Sprintf("has mode %04o: TaskProlog runs as the job's user, who cannot run it", mode.Perm())
	}
	return ""
}

// cached reports whether a slurm.conf is the copy that slurmd keeps of its controller's.
func cached(path string) bool {
	return strings.HasPrefix(path, "/run/slurm/conf/") || slices.Contains(strings.Split(path, "/"), "conf-cache")
}
