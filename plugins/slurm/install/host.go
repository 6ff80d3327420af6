package install

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/plan"
)

// maxNames bounds the files of a folder.
const maxNames = 4096

// textOf a hook file; nil where there is none.
func textOf(path string) []byte {
	text, _ := plan.ReadOwn(path)
	return text
}

// folder tells Weft's hook files from the other files of a folder, by their names.
func folder(dir string) (ours, theirs []string, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all[:min(len(all), maxNames)] {
		if sealed, _ := plan.IsSealed(textOf(filepath.Join(dir, e.Name()))); sealed {
			ours = append(ours, e.Name())
		} else {
			theirs = append(theirs, e.Name())
		}
	}
	return ours, theirs, err
}

// closed says what keeps users from a file; "" where nothing does. need are the bits that others need on it.
func closed(path string, need fs.FileMode) string {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		var mode fs.FileMode
		info, err := os.Stat(at)
		if err == nil {
			mode = info.Mode()
		}
		switch {
		case err != nil:
		case mode.IsDir() && mode.Perm()&0o001 == 0:
			return fmt.Sprintf("%s has mode %04o: TaskProlog and sbatch run as the job's user, who cannot enter it", at, mode.Perm())
		case !mode.IsDir() && mode.Perm()&need != need:
			return fmt.Sprintf("%s has mode %04o: TaskProlog and sbatch run as the job's user, who needs %04o", at, mode.Perm(), mode.Perm()|need)
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// cached reports whether a slurm.conf is the copy that slurmd keeps of its controller's.
func cached(path string) bool {
	return strings.HasPrefix(path, "/run/slurm/conf/") || slices.Contains(strings.Split(path, "/"), "conf-cache")
}
