package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestBadFolders takes from a daemon the use of its folder, in a random way, before its start or while it runs. The
// daemon never hangs and never crashes: it names the folder and ends, or goes on, and jobs begin again when the fault
// is over. It also goes on when the reader of its log is gone. WEFT_BADFOLDERS says how many times, WEFT_SEED in which
// ways.
func TestBadFolders(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount the folders")
	}
	count := int(fromEnv(t, "WEFT_BADFOLDERS", 8))
	seed := fromEnv(t, "WEFT_SEED", rand.Uint64())
	t.Logf("WEFT_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	d := newDaemons(t, "2000-2999", "", "n1")
	d.edit(theServer, `"server.db"`, `"run/server.db"`)
	folders := map[string]string{theServer: d.path("run"), "n1": d.path("n1")}
	for _, path := range folders {
		d.must(os.MkdirAll(path, 0o755))
		if err := syscall.Mount("weft", path, "tmpfs", 0, "size=4m,mode=755"); err != nil {
			t.Skipf("no mounts here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	}
	d.up()
	for range count {
		name := []string{theServer, "n1"}[random.IntN(2)]
		fault := folderFaults[random.IntN(len(folderFaults))]
		running := !fault.idle && random.IntN(2) == 0
		what := fault.name + " of " + name
		t.Logf("%s, running %v", what, running)
		if !running {
			d.terminate(name)
		}
		d.must(os.RemoveAll(d.path(name + ".log")))
		d.must(fault.begin(folders[name]))
		if !running {
			d.start(name)
			d.settled(name)
		}
		if !over(d.procs[name]) { // else the job waits for it
			k, err := d.begin("n1")
			if t.Logf("a job: %v", err); err == nil {
				k.finish()
			}
		}
		d.must(fault.end(folders[name]))
		if over(d.procs[name]) {
			said := d.log(name)
			_ = d.procs[name].Wait()
			code := d.procs[name].ProcessState.ExitCode()
			if crash.MatchString(said) || !slices.Contains([]int{0, 1, 2}, code) || !strings.Contains(said, folders[name]) {
				t.Errorf("%s, running %v: it ended with %d:\n%s", what, running, code, said)
			}
			d.start(name)
		}
		d.attached()
		d.mustBegin("n1").finish()
	}
	for _, name := range []string{theServer, "n1"} {
		d.unheard(name)
		d.attached()
		d.mustBegin("n1").finish()
		d.terminate(name)
		d.start(name)
	}
	d.clean()
}

// unheard starts a daemon again. The reader of its log is gone at once.
func (d *daemons) unheard(name string) {
	d.terminate(name)
	log := d.path(name + ".log")
	d.must(os.RemoveAll(log))
	d.must(syscall.Mkfifo(log, 0o600))
	reader, err := os.OpenFile(log, os.O_RDWR, 0)
	d.must(err)
	d.start(name)
	d.must(reader.Close())
	d.must(os.Remove(log))
}

// folderFaults happen to a folder that has a file system for itself.
var folderFaults = []struct {
	name       string
	idle       bool // no file of the folder may be open
	begin, end func(folder string) error
}{
	{"full disk", false, fill, func(folder string) error { return os.Remove(filepath.Join(folder, filler)) }},
	{"read-only disk", true, remount(syscall.MS_RDONLY), remount(0)},
	{"hidden folder", false, hide, func(folder string) error { return syscall.Unmount(folder, 0) }},
}

const filler = "filler"

// fill leaves no room on folder's disk.
func fill(folder string) error {
	f, err := os.Create(filepath.Join(folder, filler))
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	return nil
}

func remount(flags uintptr) func(folder string) error {
	return func(folder string) error {
		return syscall.Mount("weft", folder, "tmpfs", syscall.MS_REMOUNT|flags, "size=4m")
	}
}

// hide puts an empty folder over folder.
func hide(folder string) error {
	return syscall.Mount("none", folder, "tmpfs", syscall.MS_RDONLY, "size=4k,mode=0")
}
