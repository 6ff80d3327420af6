package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// panicked is what bbolt panicked with, or the fault of a page that the disk could not read.
type panicked struct{ with any }

func (p panicked) Error() string { return fmt.Sprint(p.with) }

// guard makes an error of a panic in bbolt, and a core.Error of every error.
func (l layout) guard(path string, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = core.Errorf(core.StoreCorrupt, "%s: %s: %w", l.kind, path, panicked{p})
		}
	}()
	if err := do(); err != nil {
		return l.failed(path, err)
	}
	return nil
}

// failed makes a foreign error core.StoreFailed.
func (l layout) failed(path string, err error) error {
	if _, ours := errors.AsType[*core.Error](err); ours {
		return err
	}
	return core.Errorf(core.StoreFailed, "%s: %s: %w", l.kind, path, file.Bare(err)).WithRemedy(file.Remedy(path, err))
}

// foreignLock says what it means that bbolt's own lock is taken though ours is not.
func (l layout) foreignLock(path string, err error) error {
	if errors.Is(err, bolterrors.ErrTimeout) {
		return core.Errorf(core.StoreLocked, "%s: %s: a program that is not Weft's has it open", l.kind, path).WithRemedy("end that program (`fuser " + path + "` names it)")
	}
	return err
}
