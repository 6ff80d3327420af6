package health

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Check is one row of the table: a fault that files of the kernel show.
type Check struct {
	Severity core.Severity
	Fault    string
	Limit    string // what is good
	Source   string // of the limit
	Remedy   string
	fails    func(*sight) string // the evidence; empty: it is good, or not known
}

// sight is a reading, one of earlier, and the time of the later one.
type sight struct {
	Reading
	before Reading
	now    time.Time
}

const (
	libfabric = "libfabric, prov/cxi/src/cxip_if.c, SHS 12.0 to 14.0.1: "
	driver    = "cxi driver, SHS 14.0.1: "
	manual    = "HPE's manual: "
)

// Checks are all that is judged. Those that are critical keep libfabric from the NIC.
var Checks = []Check{
	{
		core.Critical, "libfabric leaves it out: it has no network device",
		"/sys/class/net has a device on the NIC's PCI address", libfabric + "netdev_lookup",
		"`modprobe cxi-eth`; the kernel's log says why the NIC has none",
		func(s *sight) string { return when(s.Lacks, "no device of /sys/class/net is this NIC's") },
	},
	{
		core.Critical, "libfabric leaves it out: its network device has no algorithmic address (AMA)",
		"addr_assign_type is 3, and the address is a locally administered one: 02:…", libfabric + "netdev_ama_check",
		"the switch tells the address by LLDP: `lldptool -t -i hsnN -n` shows whether LLDP arrives; see the service that " +
			"sets the address",
		ama,
	},
	{
		core.Critical, "its address (AMA) is another port's: applications hang or fail",
		"the lower 20 bits of the address are the NIC's NID",
		manual + "troubleshoot_mpi_application_failure_ama_mismatch.md; " +
			"cxi driver, SHS 13.1.0 to 14.0.1: cxi_set_nid_from_mac",
		"compare the address with the port id that the switch tells by LLDP (`lldptool -t -i hsnN -n`); check the cabling, " +
			"and restart the service that sets the address",
		mismatch,
	},
	{
		core.Critical, "libfabric leaves all NICs out: the driver's min_free_shift is set",
		"0", libfabric + "cxip_query_if_list",
		"load the driver without that setting",
		func(s *sight) string { return when(some(s.MinFree), "min_free_shift: "+s.MinFree) },
	},
	{
		core.Critical, "users cannot open its device file",
		"mode 0666: all may read and write", "cxi driver, cxi_user_core.c, SHS 12.0 to 14.0.1",
		"`chmod 0666 /dev/cxi*`, and take out the udev rule that sets another mode",
		func(s *sight) string {
			open := strings.HasSuffix(s.Mode, "6") || strings.HasSuffix(s.Mode, "7")
			return when(s.Mode != "" && !open, "its mode is "+s.Mode)
		},
	},
	{
		core.Notice, "its link is slower than the card",
		"BS_200G on Cassini 1, CK_400G on Cassini 2", "cxi_stat, rate_to_ber",
		"none, where the switch has no more; else check the cable and the switch port",
		slow,
	},
	{
		core.Warning, "its PCIe link is narrower than the card",
		"current_link_width is max_link_width", manual + "pcie_interface_troubleshooting.md",
		"reseat the card; `lspci -vv` shows what slot and card can",
		func(s *sight) string {
			return when(below(s.Width, s.BestWidth), "x"+s.Width+", and the card can x"+s.BestWidth)
		},
	},
	{
		core.Warning, "its PCIe link is slower than the card",
		"current_link_speed is max_link_speed", manual + "pcie_interface_troubleshooting.md",
		"reseat the card; `lspci -vv` shows what slot and card can",
		func(s *sight) string {
			return when(!s.extended() && below(s.PCIe, s.BestPCIe), s.PCIe+", and the card can "+s.BestPCIe)
		},
	},
	{
		core.Warning, "link-layer retry is off: each bad frame becomes a lost packet",
		"on", manual + "CXI_Healthcheck.md",
		"`ethtool --set-priv-flags hsnN llr on` for the NIC's network device",
		func(s *sight) string { return when(s.LLR == "off", "link layer retry: off") },
	},
	{
		core.Warning, "its port is in loopback: nothing leaves the node",
		"off, on Cassini 1", manual + "CXI_Healthcheck.md",
		"`ethtool --set-priv-flags hsnN internal-loopback off external-loopback off` for the NIC's network device",
		func(s *sight) string {
			return when(!s.two() && s.Loopback != "" && s.Loopback != "off", "loopback: "+s.Loopback)
		},
	},
	{
		core.Warning, "priority flow control is off: the fabric drops packets",
		"pfc, on Cassini 1", manual + "CXI_Healthcheck.md",
		"load the QoS profile that the fabric has; `cxi_stat` shows the pause state",
		func(s *sight) string {
			return when(!s.two() && s.Pause != "" && !strings.HasPrefix(s.Pause, "pfc"), "pause: "+s.Pause)
		},
	},
	{
		core.Warning, "its link restarts again and again",
		"fewer than 5 restarts in an hour, and than 10 in ten hours", manual + "CXI_Healthcheck.md",
		"check the cable and the switch port, and take the node out of service",
		flaps,
	},
	{
		core.Warning, "its link corrects too many codewords",
		"bit error rate at most 1e-6 on Cassini 1, and 2e-5 on Cassini 2",
		"HPE's cxiberstat.sh 1.4, a node with errors; " + driver + "cass_sl.c, goal of FEC",
		"reseat or replace the cable; compare the error rate of the switch port",
		func(s *sight) string {
			most := 1e-6
			if s.two() {
				most = 2e-5
			}
			return rate(s, s.before.Corrected, s.Corrected, most)
		},
	},
	{
		core.Warning, "its link loses codewords that it cannot correct",
		"bit error rate at most 1e-12", manual + "net_diags_cxiberstat.md, SHS 12.0 to 14.0: 4.7e-12 is a bad run",
		"reseat or replace the cable; compare the error rate of the switch port",
		func(s *sight) string { return rate(s, s.before.Uncorrected, s.Uncorrected, 1e-12) },
	},
	{
		core.Warning, "PCIe errors that cannot be corrected",
		"0", driver + "cass_pcie_mon.c; the kernel's aer_dev_fatal",
		"the kernel's log has each error; reseat or replace the card",
		func(s *sight) string {
			return when(some(s.BusUncorr) || some(s.AERHard),
				"driver's count "+known(s.BusUncorr)+", AER fatal "+known(s.AERHard))
		},
	},
	{
		core.Notice, "PCIe errors that the NIC survived",
		"0 nonfatal, and no minute with more corrected ones than the driver accepts",
		driver + "cass_pcie_mon.c; the kernel's aer_dev_nonfatal",
		"none is needed while they are few; reseat the card when they rise",
		func(s *sight) string {
			return when(some(s.BusCorrected) || some(s.AERNon),
				"corrected in such minutes: "+known(s.BusCorrected)+", AER nonfatal "+known(s.AERNon))
		},
	},
}

// Judge says what the files of a NIC show, and each fault in it. before is an earlier reading, for rates; it may be
// empty.
func (r *Reading) Judge(before Reading, now time.Time) []core.Finding {
	s := &sight{*r, before, now}
	found := []core.Finding{{Severity: core.Good, What: "its state", Evidence: s.shown()}}
	for _, c := range Checks {
		if evidence := c.fails(s); evidence != "" {
			found = append(found, core.Finding{
				Severity: c.Severity, What: c.Fault, Evidence: evidence, Remedy: c.Remedy,
			})
		}
	}
	return found
}

func when(fault bool, evidence string) string {
	if fault {
		return evidence
	}
	return ""
}

// ama follows libfabric, which takes an address without addr_assign_type for none.
func ama(s *sight) string {
	if s.Address == "" {
		return ""
	}
	octet, _, _ := strings.Cut(s.Address, ":")
	first, err := strconv.ParseUint(octet, 16, 8)
	return when(err != nil || s.Assign != "3" || first&3 != 2, "addr_assign_type "+known(s.Assign)+", address "+octet+":…")
}

// mismatch compares the NIC's NID with its address, whose lower 20 bits it is. The evidence has no more of the address.
func mismatch(s *sight) string {
	nid, unknown := strconv.ParseUint(s.NID, 0, 20)
	address, bad := strconv.ParseUint(strings.ReplaceAll(s.Address, ":", ""), 16, 48)
	return when(unknown == nil && bad == nil && ama(s) == "" && address&0xfffff != nid,
		fmt.Sprintf("NID 0x%05x, and 0x%05x by the address", nid, address&0xfffff))
}

// two reports whether the chip is a Cassini 2, whose files the open sources do not describe in full.
func (s *sight) two() bool { return strings.HasPrefix(s.Version, "2") }

// extended reports whether PCIe runs in HPE's extended speed mode, which current_link_speed does not show.
func (s *sight) extended() bool { return s.ESM != "" && s.ESM != "Disabled" && s.ESM != "Absent" }

// slow judges the link while it is up: a port that is down shows no speed.
func slow(s *sight) string {
	full := "BS_200G"
	if s.two() {
		full = "CK_400G"
	}
	_, known := bits[mode(s.Speed)]
	return when(known && mode(s.Speed) != full, s.Speed+", and the card can "+full)
}

// below compares two numbers that texts begin with.
func below(is, can string) bool {
	a, errA := leading(is)
	b, errB := leading(can)
	return errA == nil && errB == nil && a < b
}

func leading(text string) (float64, error) {
	first, _, _ := strings.Cut(text, " ")
	return strconv.ParseFloat(first, 64)
}

func some(count string) bool { return count != "" && count != "0" }

// restarts is how often the link restarted since a time; ok is false where the node does not know.
func (s *sight) restarts(since time.Time) (n int, ok bool) {
	for _, text := range s.Restarts {
		at, err := strconv.ParseInt(text, 10, 64)
		if ok = ok || err == nil; err == nil && at > 0 && at >= since.Unix() {
			n++
		}
	}
	return n, ok
}

func flaps(s *sight) string {
	hour, _ := s.restarts(s.now.Add(-time.Hour))
	ten, _ := s.restarts(s.now.Add(-10 * time.Hour))
	return when(hour >= 5 || ten >= 10, fmt.Sprintf("restarts: %d in the last hour, %d in ten hours", hour, ten))
}
