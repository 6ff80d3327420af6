package rundir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nobody = 65534

// dir is a run directory whose mode does not hang on the umask.
func dir(t testing.TB) Dir {
	t.Helper()
	d := filepath.Join(t.TempDir(), "weft")
	must(t, os.Mkdir(d, 0o755))
	must(t, os.Chmod(d, 0o755))
	return Dir(d)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// spoil are the ways in which a file of the run directory must not be believed.
var spoil = map[string]func(t *testing.T, d Dir, path string){
	"a symbolic link": func(t *testing.T, d Dir, path string) {
		must(t, os.Rename(path, path+".real"))
		must(t, os.Symlink(path+".real", path))
	},
	"a pipe": func(t *testing.T, d Dir, path string) {
		must(t, os.Remove(path))
		must(t, syscall.Mkfifo(path, 0o600))
	},
	"a folder": func(t *testing.T, d Dir, path string) {
		must(t, os.Remove(path))
		must(t, os.Mkdir(path, 0o700))
	},
	"others can write": func(t *testing.T, d Dir, path string) { must(t, os.Chmod(path, 0o666)) },
	"another's": func(t *testing.T, d Dir, path string) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file to another user")
		}
		// Root may read any user's environment; the one who must not is tried where the hook runs as a user.
		if filepath.Base(filepath.Dir(filepath.Dir(path))) == environs {
			t.Skip("root may read it")
		}
		must(t, os.Chown(path, nobody, nobody))
	},
	"too long": func(t *testing.T, d Dir, path string) { must(t, os.Truncate(path, MaxHooks+MaxEnviron)) },
	"in a folder that others can write": func(t *testing.T, d Dir, path string) {
		must(t, os.Chmod(filepath.Dir(path), 0o777))
	},
	"in a run directory that others can write": func(t *testing.T, d Dir, path string) { must(t, os.Chmod(string(d), 0o1777)) },
	"in a run directory that is another's": func(t *testing.T, d Dir, path string) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a folder to another user")
		}
		must(t, os.Chown(string(d), nobody, nobody))
	},
	"in a folder that is a symbolic link": func(t *testing.T, d Dir, path string) {
		folder := filepath.Dir(path)
		real := folder + ".real"
		must(t, os.Rename(folder, real))
		must(t, os.Symlink(real, folder))
	},
}
