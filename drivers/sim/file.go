package sim

import (
	"fmt"
	"io"
	"os"
)

// replace puts data in the place of a file, whole or not at all. What a crash leaves of the temporary file is overwritten the next time.
func (d *Driver) replace(name string, data []byte, sync bool) error {
	temp := d.path(name + ".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(temp, d.path(name)); err != nil || !sync {
		return err
	}
	dir, err := os.Open(d.options.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return data, err
}
