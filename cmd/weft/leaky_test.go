package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/sdk"
)

// leaky is a NIC driver that says that a service is gone, and leaves it.
type leaky struct{ *sim.Driver }

func (leaky) Destroy(_ context.Context, services []core.Service) ([]error, error) {
	return make([]error, len(services)), nil
}

// leakyPlugin is the main of a program that `weft plugin verify` is to find out.
func leakyPlugin() { sdk.Serve(leaky{sim.New(sim.Options{})}, sdk.WithName("leaky")) }

// holderProgram is a program for --hold, as somebody with NICs would have it: weft-holder NICS DEVICE SERVICE UID holds a service in use until its input ends.
func holderProgram() {
	err := hold(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "weft-holder:", err)
		os.Exit(1)
	}
}

func hold(args []string) error {
	service, err := strconv.ParseUint(args[2], 10, 32)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(args[3], 10, 32)
	if err != nil {
		return err
	}
	l, err := sim.At(args[0]).Open(context.Background(), args[1], uint32(service), kernel.Caller{EUID: uint32(uid), EGID: uint32(uid)})
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("holding")
	_, err = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	return err
}
