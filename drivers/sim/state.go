package sim

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Bounds of the files of a folder, in bytes.
const (
	maxState  = 64 << 20
	maxFaults = 1 << 20
)

const stateVersion = 1

// node is the content of a state file.
type node struct {
	booted string // boot id of nics
	nics   []kernel.NIC
	bus    bus
}

// state is the state file.
type state struct {
	Version int                `json:"version"`
	Boot    string             `json:"boot"`
	Release string             `json:"release"` // of the driver whose rules made the services
	NICs    [][]kernel.Service `json:"nics"`
	Bus     bus                `json:"bus,omitzero"`
}

func encodeState(n node, release *kernel.Behaviour) ([]byte, error) {
	if len(n.nics) > 0 {
		release = n.nics[0].Behaviour()
	}
	s := state{Version: stateVersion, Boot: n.booted, Release: release.Release, Bus: n.bus}
	for i := range n.nics {
		s.NICs = append(s.NICs, n.nics[i].Services())
	}
	return json.Marshal(s)
}

// decodeState reads a state file. NICs whose services could not stand together are refused: they would be no NIC's.
func decodeState(data []byte) (node, error) {
	var s state
	if err := strict(data, &s); err != nil {
		return node{}, core.Errorf(core.StoreCorrupt, "it cannot be read: %w", err)
	}
	if s.Version != stateVersion {
		return node{}, core.Errorf(core.StoreNewer, "it has version %d and this release reads %d", s.Version, stateVersion)
	}
	if len(s.NICs) > MaxNICs {
		return node{}, core.Errorf(core.StoreCorrupt, "it has %d NICs, more than %d", len(s.NICs), MaxNICs)
	}
	release := kernel.Named(s.Release)
	if release == nil {
		return node{}, core.Errorf(core.StoreNewer, "it is of SHS %q, whose rules are not known here", core.Clip(s.Release))
	}
	n := node{booted: s.Boot, bus: s.Bus}
	for i, services := range s.NICs {
		nic, ok := kernel.Restore(release, services)
		if !ok {
			return node{}, core.Errorf(core.StoreCorrupt, "the services of %s contradict each other", nicName(i))
		}
		n.nics = append(n.nics, nic)
	}
	if err := n.bus.check(len(n.nics)); err != nil {
		return node{}, core.Errorf(core.StoreCorrupt, "%w", err)
	}
	return n, nil
}

func decodeFaults(data []byte) ([]Fault, error) {
	var fs []Fault
	if err := strict(data, &fs); err != nil {
		return nil, core.Errorf(core.BadCall, "it cannot be read: %w", err)
	}
	for _, f := range fs {
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// strict decodes one JSON value that has no field we do not know and nothing behind it.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return core.Errorf(core.StoreCorrupt, "something follows its end")
	}
	return nil
}
