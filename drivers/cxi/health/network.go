package health

import (
	"os"
	"path/filepath"
	"strings"
)

// Network is a NIC's network device.
type Network struct {
	Name    string // hsn0
	Lacks   bool   // the node has network devices, and none is the NIC's
	Address string
	Assign  string // addr_assign_type: 3 is an address that was set
	State   string // operstate
	Carrier string
	MTU     string
}

// NetworkOf finds the network device on the NIC's PCI address, and reads its files.
func NetworkOf(sysfs, nic string) (n Network) {
	class := filepath.Join(sysfs, "class/net")
	entries, err := os.ReadDir(class)
	pci, unknown := os.Readlink(filepath.Join(sysfs, "class/cxi", nic, "device"))
	if err != nil || unknown != nil {
		return n
	}
	for _, e := range entries {
		dir := filepath.Join(class, e.Name())
		at, err := os.Readlink(filepath.Join(dir, "device"))
		if err != nil || filepath.Base(at) != filepath.Base(pci) {
			continue
		}
		read := func(name string) string { return text(filepath.Join(dir, name)) }
		return Network{
			Name: e.Name(), Address: read("address"), Assign: read("addr_assign_type"),
			State: read("operstate"), Carrier: read("carrier"), MTU: read("mtu"),
		}
	}
	return Network{Lacks: true}
}

// Up reports whether libfabric takes the link for up (netdev_link in prov/cxi/src/cxip_if.c of shs-libfabric,
// release/shs-12.0.0 to 14.0.1). known is false where the files do not say.
func (n *Network) Up() (up, known bool) {
	if strings.HasPrefix(n.State, "unknown") {
		return n.Carrier != "" && n.Carrier != "0", n.Carrier != ""
	}
	return strings.HasPrefix(n.State, "up"), n.State != ""
}
