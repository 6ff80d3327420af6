// Package health judges a NIC by files of the kernel: it finds faults that keep libfabric from it, and shows its state
// as HPE's cxi_stat does.
package health

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/file"
)

// Reading is a NIC as its files show it. A text is empty where its file is not there: the node does not know it.
type Reading struct {
	Mode    string // of /dev/cxiN, octal
	Version string // of the Cassini chip: 1.0, 1.1, 2.0
	MinFree string // min_free_shift
	NID     string // 0x37c; 0xffffffff until the driver has one
	Network

	Link, Speed, LLR, Loopback, Media, Pause string

	Width, BestWidth string // lanes of PCIe, and what the card can
	PCIe, BestPCIe   string // speed: 16.0 GT/s PCIe
	ESM              string // PCIe speed in HPE's extended mode; Disabled, Absent
	Firmware         string

	Corrected, Uncorrected   string     // codewords, "COUNT@SECONDS.NANOSECONDS"
	BusCorrected, BusUncorr  string     // PCIe errors that the driver's monitor counted
	AERCorr, AERNon, AERHard string     // the kernel's counts of PCIe errors
	Restarts                 [10]string // of the link: when, in seconds since 1970; 0 is none
}

// Read reads the files of a NIC below a sysfs, and its device file in ../dev.
func Read(sysfs, nic string) Reading {
	device := filepath.Join(sysfs, "class/cxi", nic, "device")
	read := func(paths ...string) string { // Cassini 1 has its port's files in port, Cassini 2 in port/0
		for _, p := range paths {
			if text := text(filepath.Join(device, p)); text != "" {
				return text
			}
		}
		return ""
	}
	r := Reading{
		Version: read("properties/cassini_version"), MinFree: read("properties/min_free_shift"),
		NID:  read("properties/nid"),
		Link: read("port/link", "port/0/link/state"), Speed: read("port/speed", "port/0/link/speed"),
		LLR: read("port/link_layer_retry", "port/0/llr/state"), Media: read("port/media", "port/0/media/type"),
		Loopback: read("port/loopback", "port/0/link/config/loopback"),
		Pause:    read("port/pause", "port/0/link/config/pause_map", "port/0/link/config/pause"),
		Width:    read("current_link_width"), BestWidth: read("max_link_width"),
		PCIe: read("current_link_speed"), BestPCIe: read("max_link_speed"),
		ESM:       read("properties/current_esm_link_speed"),
		Firmware:  read("uc/qspi_blob_version"),
		Corrected: read("telemetry/hni_pcs_corrected_cw"), Uncorrected: read("telemetry/hni_pcs_uncorrected_cw"),
		BusCorrected: read("properties/pcie_corr_err"), BusUncorr: read("properties/pcie_uncorr_err"),
		AERCorr: total(read("aer_dev_correctable")), AERNon: total(read("aer_dev_nonfatal")),
		AERHard: total(read("aer_dev_fatal")),
	}
	for i := range r.Restarts {
		r.Restarts[i] = read(fmt.Sprintf("link_restarts/time_%d", i))
	}
	if info, err := os.Stat(filepath.Join(sysfs, "../dev", nic)); err == nil {
		r.Mode = fmt.Sprintf("%04o", info.Mode().Perm())
	}
	r.Network = NetworkOf(sysfs, nic)
	return r
}

// text is a small file's text; empty where it cannot be read.
func text(path string) string {
	data, err := file.Read(path, 4096)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

// total is the last number of a file of AER counts, whose last line is "TOTAL_ERR_COR 0".
func total(counts string) string {
	fields := strings.Fields(counts)
	if len(fields) < 2 || !strings.HasPrefix(fields[len(fields)-2], "TOTAL_ERR_") {
		return ""
	}
	return fields[len(fields)-1]
}
