package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/core"
)

func holdBy(ctx context.Context, program string, s core.Service) (func(), error) {
	cmd := exec.Command(program, s.Device, strconv.FormatUint(uint64(s.ID), 10), strconv.FormatUint(uint64(s.Owner.ID), 10))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	said := make(chan error, 1)
	go func() {
		b := bufio.NewReaderSize(out, 4096)
		_, err := b.ReadSlice('\n')
		said <- err
		_, _ = b.WriteTo(io.Discard)
		_ = cmd.Wait()
		close(done)
	}()
	end := func(patience time.Duration) {
		_ = in.Close()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			_ = cmd.Process.Kill()
			<-done
		}
	}
	select {
	case err = <-said:
	case <-ctx.Done():
		err = errors.New("it was waited for until the case's time was half over")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended, or closed its output")
	}
	if err != nil {
		end(0)
		return nil, fmt.Errorf("%s printed no line that says that it holds the service: %w", program, err)
	}
	return func() { end(5 * time.Second) }, nil
}
