package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
)

// MaxLog is how many bytes of bypass.log are kept twice: when it is full it becomes bypass.log.1, in the stead of the one before.
const MaxLog = 1 << 20

// Bounds of one note.
const (
	maxLine  = 1 << 10                // bytes
	lockWait = 200 * time.Millisecond // for other hooks that note something
	lockStep = time.Millisecond
)

// NoteBypass appends a line to bypass.log and counts it. Only the owner of the run directory can. It waits a short time for others that do.
func (d Dir) NoteBypass(now time.Time, line string) (err error) {
	path := d.path(countName)
	defer func() {
		if err != nil {
			err = core.Errorf(core.NotAllowed, "%s: %w", path, err)
		}
	}()
	if err := d.Check(); err != nil {
		return err
	}
	count, err := appendable(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer count.Close()
	if err := lock(count); err != nil {
		return err
	}
	if err := d.log(now, line); err != nil {
		return err
	}
	n, err := number(count)
	if err != nil {
		return err
	}
	_, err = count.WriteAt(fmt.Appendf(nil, "%020d\n", n+1), 0)
	return err
}

// LogBypass appends a line to bypass.log that counts nothing: who began a bypass or ended one.
func (d Dir) LogBypass(now time.Time, line string) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := d.log(now, line); err != nil {
		return core.Errorf(core.NotAllowed, "%s: %w", d.path(logName), err)
	}
	return nil
}

func (d Dir) log(now time.Time, line string) error {
	text := now.UTC().Format(time.RFC3339) + " " + strings.Join(strings.Fields(line), " ")
	if len(text) >= maxLine {
		text = strings.ToValidUTF8(text[:maxLine-4], "") + "…"
	}
	return appendLine(d.path(logName), []byte(text))
}

// BypassCount is how often hooks have gone by without Weft since the node's boot.
func (d Dir) BypassCount() (uint64, error) {
	f, err := d.open(d.path(countName), os.O_RDONLY, checkOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return number(f)
}

// appendable opens or makes a file that only its owner can use.
func appendable(path string, flag int) (*os.File, error) {
	return openRegular(path, flag|os.O_CREATE, checkPrivate)
}

func lock(f *os.File) error {
	for waited := time.Duration(0); ; waited += lockStep {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || waited >= lockWait {
			return err
		}
		time.Sleep(lockStep)
	}
}

// number is the count that a file holds; none is 0.
func number(f *os.File) (uint64, error) {
	var b [maxTime]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	return strconv.ParseUint(strings.TrimSpace(string(b[:n])), 10, 64)
}
