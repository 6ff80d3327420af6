package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// healthy are files of a good Cassini 1 below device: cass_sysfs.c, cass_sbl.c, cass_telem.c and cass_uc.c of
// shs-cxi-driver release/shs-14.0.1, with the values of HPE's manual (cxi_stat) and the kernel's own of PCI devices.
var healthy = map[string]string{
	"properties/cassini_version": "1.1", "properties/min_free_shift": "0", "properties/current_esm_link_speed": "Disabled",
	"properties/pcie_corr_err": "0", "properties/pcie_uncorr_err": "0", "uc/qspi_blob_version": "1.5.53",
	"port/link": "up", "port/speed": "BS_200G", "port/link_layer_retry": "on", "port/loopback": "off",
	"port/media": "electrical", "port/pause": "pfc/802.1qbb",
	"current_link_width": "16", "max_link_width": "16", "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe",
	"aer_dev_correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0", "aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0",
	"aer_dev_fatal":                  "Undefined 0\nTOTAL_ERR_FATAL 0",
	"telemetry/hni_pcs_corrected_cw": "1000@100.000000000", "telemetry/hni_pcs_uncorrected_cw": "0@100.000000000",
	"link_restarts/time_0": "0", "link_restarts/time_1": "0", "link_restarts/time_2": "0", "link_restarts/time_3": "0",
	"link_restarts/time_4": "0", "link_restarts/time_5": "0", "link_restarts/time_6": "0", "link_restarts/time_7": "0",
	"link_restarts/time_8": "0", "link_restarts/time_9": "0",
}

// Healthy adds to a sysfs of Tree the files that show a good NIC: its PCI device, its network device, and its device file
// in ../dev.
func Healthy(t testing.TB, root string, nic int) {
	t.Helper()
	class := filepath.Join(root, fmt.Sprintf("class/cxi/cxi%d/device", nic))
	net := filepath.Join(root, fmt.Sprintf("class/net/hsn%d", nic))
	dev := filepath.Join(root, fmt.Sprintf("../dev/cxi%d", nic))
	for file, text := range healthy {
		put(t, filepath.Join(class, file), text+"\n")
	}
	put(t, filepath.Join(net, "address"), fmt.Sprintf("02:00:00:00:01:%02x\n", nic))
	for file, text := range map[string]string{"addr_assign_type": "3", "operstate": "up", "carrier": "1", "mtu": "9000"} {
		put(t, filepath.Join(net, file), text+"\n")
	}
	put(t, dev, "")
	pci := fmt.Sprintf("../../../devices/0000:%02x:00.0", 0x21+nic)
	for _, err := range []error{
		os.Chmod(dev, 0o666),
		os.MkdirAll(filepath.Join(root, "devices"), 0o700),
		os.Rename(class, filepath.Join(filepath.Dir(class), pci)),
		os.Symlink(pci, class),
		os.Symlink(pci, filepath.Join(net, "device")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Operstate sets the state of a NIC's network device.
func Operstate(t testing.TB, root string, nic int, state string) {
	t.Helper()
	put(t, filepath.Join(root, fmt.Sprintf("class/net/hsn%d/operstate", nic)), state+"\n")
}

func put(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
