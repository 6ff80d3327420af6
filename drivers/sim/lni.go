package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/file"
)

// held is an LNI that an application of some process holds through its file.
type held struct {
	file   string
	device int
	lni    uint32
}

// application is the content of an LNI's file.
type application struct {
	Device  string        `json:"device"`
	Load    int           `json:"load"` // the load of the driver that opened it: no later one knows it
	Service uint32        `json:"service"`
	Caller  kernel.Caller `json:"caller"`
}

// LNI is an LNI that a simulated application holds. In a folder the death of the process closes it.
type LNI struct {
	driver *Driver
	device string
	load   int
	id     uint32
	file   *os.File
}

// Open is an application that opens an LNI of a service and allocates one of each object of an endpoint that the service's limits let it have. It fails
// as the kernel does: NotAllowed for who is no member or for a disabled service, BadCall for an unknown one, NICShort without RGIDs.
func (d *Driver) Open(ctx context.Context, device string, service uint32, c kernel.Caller) (*LNI, error) {
	l := &LNI{driver: d, device: device}
	var failed error
	w := work{name: device, call: CallOpen,
		do: func(n *kernel.NIC) {
			id, errno := open(n, c, service)
			if errno != kernel.OK {
				failed = refused(device, service, errno)
				return
			}
			l.id, l.load = id, d.bus.Loads
			if d.options.Dir == "" {
				return
			}
			if l.file, failed = d.hold(application{device, l.load, service, c}, id); failed != nil {
				_ = n.FreeLNI(id)
			}
		},
		fail: func(err *core.Error) { failed = err },
	}
	if err := d.run(ctx, []work{w}, false); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return l, nil
}

// refused is why an application gets no LNI.
func refused(device string, service uint32, errno kernel.Errno) *core.Error {
	const what = "cannot open an LNI of service"
	why := map[kernel.Errno]string{
		kernel.EPERM: "the caller is not one of its owners", kernel.EKEYREVOKED: "it is disabled",
	}[errno]
	if why == "" {
		return refusal.Error(device, what, service, errno)
	}
	return core.Errorf(core.NotAllowed, "NIC %s: %s %d: %s: %w", device, what, service, why, errno)
}

// Use allocates more objects of a resource, as an application with more endpoints does. It fails as the kernel does. The
// objects of an LNI that lies in a folder are not kept there.
func (l *LNI) Use(ctx context.Context, r core.Resource, count uint16) error {
	errno := kernel.EIO
	err := l.driver.locked(ctx, false, func() {
		if at := l.driver.index(l.device); at >= 0 && l.load == l.driver.bus.Loads {
			errno = l.driver.nics[at].Use(l.id, r, count)
		}
	})
	if err == nil && errno != kernel.OK {
		return errno
	}
	return err
}

// Close gives the LNI back.
func (l *LNI) Close() error {
	if l.file != nil {
		os.Remove(l.file.Name()) // whoever looks next removes what this leaves
		return l.file.Close()
	}
	return l.driver.locked(context.Background(), false, func() {
		if at := l.driver.index(l.device); at >= 0 && l.id != 0 && l.load == l.driver.bus.Loads {
			_ = l.driver.nics[at].FreeLNI(l.id)
		}
		l.id = 0
	})
}

// Hold is an application on the node of a folder: it opens an LNI of a service as a user and holds it until ctx ends. opened, which may be nil, is called
// once it has it.
func Hold(ctx context.Context, dir, device string, service, uid uint32, opened func()) error {
	l, err := At(dir).Open(ctx, device, service, kernel.Caller{EUID: uid, EGID: uid})
	if err != nil {
		return err
	}
	if opened != nil {
		opened()
	}
	<-ctx.Done()
	return l.Close()
}

func open(n *kernel.NIC, c kernel.Caller, service uint32) (uint32, kernel.Errno) {
	id, errno := n.AllocLNI(c, service)
	if errno == kernel.OK {
		for _, r := range []core.Resource{core.PTE, core.TXQ, core.TGQ, core.EQ, core.CT, core.AC} {
			_ = n.Use(id, r, 1)
		}
	}
	return id, errno
}

// hold makes and locks the file of an LNI. The folder is locked.
func (d *Driver) hold(a application, lni uint32) (*os.File, error) {
	data, err := json.Marshal(a)
	if err == nil {
		err = os.MkdirAll(d.path("lni"), 0o700)
	}
	if err != nil {
		return nil, d.broken("cannot open an LNI", err)
	}
	for i := lni; ; i++ {
		name := fmt.Sprintf("%s.%d.%d", a.Device, a.Service, i)
		f, err := os.OpenFile(filepath.Join(d.path("lni"), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			if _, err = f.Write(data); err == nil {
				err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			}
		}
		if err != nil {
			return nil, d.broken("cannot open an LNI", err)
		}
		d.held = append(d.held, held{name, d.index(a.Device), lni})
		return f, nil
	}
}

// loadLNIs makes the LNIs those whose files are locked, and removes the files of the dead. The folder is locked.
func (d *Driver) loadLNIs() error {
	entries, err := os.ReadDir(d.path("lni"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var alive []string
	for _, e := range entries {
		live, err := isLocked(filepath.Join(d.path("lni"), e.Name()))
		if err != nil {
			return err
		}
		if live {
			alive = append(alive, e.Name())
		}
	}
	d.held = slices.DeleteFunc(d.held, func(h held) bool {
		if slices.Contains(alive, h.file) {
			return false
		}
		_ = d.nics[h.device].FreeLNI(h.lni)
		return true
	})
	for _, name := range alive {
		if !slices.ContainsFunc(d.held, func(h held) bool { return h.file == name }) {
			d.admit(name)
		}
	}
	return nil
}

// admit enters the LNI of a file into its NIC. A file that no Open made holds nothing.
func (d *Driver) admit(name string) {
	data, err := file.Read(filepath.Join(d.path("lni"), name), 4096)
	var a application
	if err != nil || strict(data, &a) != nil || a.Load != d.bus.Loads {
		return
	}
	at := d.index(a.Device)
	if at < 0 {
		return
	}
	if id, errno := open(&d.nics[at], a.Caller, a.Service); errno == kernel.OK {
		d.held = append(d.held, held{name, at, id})
	}
}

// isLocked reports whether a process holds the file; nobody's is removed.
func isLocked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, nil
}
