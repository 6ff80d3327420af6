// Package shim is a stand-in for libcxi and the driver below it, for tests: a library built of libcxi.c, whose calls are answered here by NICs that follow
// the rules of drivers/sim/kernel. It encodes the structures by itself, byte by byte, so that a wrong layout of the driver under test shows.
package shim

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

//go:embed c/libcxi.c
var source []byte

// The newest symbol versions that libraries of SHS 12.0 and 13.0, of 13.1, of 14.0 and of what is newer have.
const (
	Lib8  = 8
	Lib9  = 9
	Lib10 = 10
	Lib11 = 11
)

// LibraryOf is the library that a release ships.
func LibraryOf(b *kernel.Behaviour) int {
	switch b {
	case &kernel.R120, &kernel.R130:
		return Lib8
	case &kernel.R131:
		return Lib9
	case &kernel.Main:
		return Lib11
	}
	return Lib10
}

// The commands of libcxi.c.
const (
	opOpen = iota + 1
	opAlloc
	opDestroy
	opList
	opGet
	opUseList
	opUse
	opSetLPR
	opGetLPR
	opEnable
	opSetRange
	opGetRange
	opSetNetNS
	opGetNetNS
	opDevices
	opOpenLNI
	opCloseLNI
	opOpenCP
)

// names of the commands that Refuse tells apart.
var names = map[uint32]string{
	opOpen: "open", opAlloc: "alloc", opDestroy: "destroy", opList: "list", opGet: "get", opUseList: "use", opSetLPR: "set lpr", opGetLPR: "get lpr",
	opEnable: "enable", opSetRange: "set range", opSetNetNS: "set netns", opOpenLNI: "open LNI",
}

// Node is a node with NICs behind a library.
type Node struct {
	Dir      string // holds libcxi.so.1, its socket and sys/
	listener net.Listener

	mu     sync.Mutex
	nics   []kernel.NIC
	admin  bool
	down   map[int]bool // link
	dead   map[int]bool // retry handler
	gone   map[int]bool // cannot be opened
	hang   map[int]chan struct{}
	tamper func(op string, d []byte)
	refuse func(op string) kernel.Errno
	calls  map[string]int
	conns  map[net.Conn]bool

	lniAlloc  byte // size of struct cxi_lni_alloc_cmd
	ignoreLPR bool
	virtual   map[int]bool // libcxi says so
	ops       kernel.Op
	opener    uint32
}

// New makes a node with NICs of a release and a library of the given symbol version. It skips the test where there is no C compiler.
func New(t testing.TB, b *kernel.Behaviour, nics, libcxi int) *Node {
	t.Helper()
	library := build(t, libcxi)
	dir, err := os.MkdirTemp("", "cxi") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &Node{
		Dir: dir, admin: true, down: map[int]bool{}, dead: map[int]bool{}, gone: map[int]bool{}, hang: map[int]chan struct{}{}, calls: map[string]int{},
		conns: map[net.Conn]bool{}, lniAlloc: 16, virtual: map[int]bool{}, ops: b.Ops,
	}
	if b == &kernel.Main {
		n.lniAlloc = 24
	}
	for range nics {
		n.nics = append(n.nics, kernel.New(b))
	}
	data, err := os.ReadFile(library)
	if err == nil {
		err = os.WriteFile(n.Library(), data, 0o700) // a file of its own: the loader takes the same file for the same library
	}
	if err == nil {
		n.listener, err = net.Listen("unix", filepath.Join(dir, "nic.sock"))
	}
	if err != nil {
		t.Fatal(err)
	}
	Tree(t, n.Sys(), b, nics, "LL_BE_BD_ET") // what the driver loads unless told otherwise
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := n.listener.Accept()
			if err != nil {
				return
			}
			n.mu.Lock()
			n.conns[c] = true
			n.mu.Unlock()
			served.Go(func() {
				n.serve(c)
				n.mu.Lock()
				delete(n.conns, c)
				n.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		n.Release()
		n.listener.Close()
		n.mu.Lock()
		for c := range n.conns {
			c.Close()
		}
		n.mu.Unlock()
		served.Wait()
	})
	return n
}

// Library is the path of the node's libcxi.
func (n *Node) Library() string { return filepath.Join(n.Dir, "libcxi.so.1") }

// Sys is the node's sysfs.
func (n *Node) Sys() string { return filepath.Join(n.Dir, "sys") }

// Do runs f on a NIC.
func (n *Node) Do(nic int, f func(*kernel.NIC)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.nics[nic])
}

// Calls is how often a command ran, by its name; "alloc EEXIST" is how often alloc ended so, and "call list" how often the
// driver was called.
func (n *Node) Calls(op string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[op]
}

// Opener is the effective uid of the process that asked for the last LNI.
func (n *Node) Opener() uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opener
}

// Set changes how the node behaves.
func (n *Node) Set(f func(*State)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&State{n})
}

// State is what Set changes.
type State struct{ n *Node }

// Admin says whether callers have CAP_SYS_ADMIN.
func (s *State) Admin(yes bool) { s.n.admin = yes }

// Link says whether a NIC's link is up, Retry whether its retry handler runs, Opens whether it can be opened.
func (s *State) Link(nic int, up bool)   { s.n.down[nic] = !up }
func (s *State) Retry(nic int, run bool) { s.n.dead[nic] = !run }
func (s *State) Opens(nic int, yes bool) { s.n.gone[nic] = !yes }

// Virtual says whether libcxi calls a NIC a virtual function.
func (s *State) Virtual(nic int, yes bool) { s.n.virtual[nic] = yes }

// IgnoreLPR lets the driver ignore how many LNIs share an RGID.
func (s *State) IgnoreLPR(yes bool) { s.n.ignoreLPR = yes }

// LNIAlloc says what size the command that opens an LNI has for the driver: 16 bytes, as up to SHS 14.0.1, or 24.
func (s *State) LNIAlloc(size byte) { s.n.lniAlloc = size }

// Hang lets every command on a NIC hang until Release.
func (s *State) Hang(nic int) { s.n.hang[nic] = make(chan struct{}) }

// Tamper changes what "get", "list" and "use" answer, and what "alloc" asks for: the raw structures.
func (s *State) Tamper(f func(op string, raw []byte)) { s.n.tamper = f }

// Refuse is asked at each command by its name, and its error number is the answer where that is not OK.
func (s *State) Refuse(f func(op string) kernel.Errno) { s.n.refuse = f }

// Release ends what Hang began.
func (n *Node) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for nic, c := range n.hang {
		close(c)
		delete(n.hang, nic)
	}
}

func (n *Node) serve(c net.Conn) {
	defer c.Close()
	for {
		var raw [88]byte
		if _, err := io.ReadFull(c, raw[:]); err != nil {
			return
		}
		word := func(i int) uint32 { return binary.NativeEndian.Uint32(raw[4*i:]) }
		op, nic := word(0), int(word(1))
		n.mu.Lock()
		wait := n.hang[nic]
		n.mu.Unlock()
		if wait != nil {
			<-wait
		}
		n.mu.Lock()
		code, more := n.answer(op, nic, word(2), word(3), word(4), raw[20:])
		n.mu.Unlock()
		reply := binary.NativeEndian.AppendUint32(nil, uint32(code))
		reply = append(binary.NativeEndian.AppendUint32(reply, uint32(len(more))), more...)
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

// answer runs one command on a NIC; code is negative for an error, as libcxi returns it.
func (n *Node) answer(op uint32, nic int, id, a, b uint32, raw []byte) (code int32, more []byte) {
	if op == opDevices {
		for i := range n.nics {
			if !n.gone[i] {
				more = append(more, n.info(i)...)
			}
		}
		return 0, more
	}
	if nic < 0 || nic >= len(n.nics) || n.gone[nic] {
		return -int32(kernel.EIO), nil
	}
	n.calls["call "+names[op]]++
	if n.refuse != nil {
		if err := n.refuse(names[op]); err != kernel.OK {
			return -int32(err), nil
		}
	}
	k, who := &n.nics[nic], kernel.Caller{Admin: n.admin}
	tell := func(op string, raw []byte) []byte {
		n.calls[op]++
		if n.tamper != nil {
			n.tamper(op, raw)
		}
		return raw
	}
	number := func(v uint32, err kernel.Errno) (int32, []byte) {
		return -int32(err), binary.NativeEndian.AppendUint32(nil, v)
	}
	switch op {
	case opOpen:
		return 0, n.info(nic)
	case opAlloc:
		d := decode(tell("alloc", raw))
		id, fail, err := k.Alloc(who, &d)
		n.calls["alloc "+err.Error()]++
		if err != kernel.OK {
			return -int32(err), encodeFail(fail)
		}
		return int32(id), encodeFail(fail)
	case opDestroy:
		tell("destroy", nil)
		return -int32(k.Destroy(who, id)), nil
	case opList:
		for _, s := range k.Services() {
			more = append(more, tell("list", encode(s.Desc))...)
		}
		return 0, more
	case opGet:
		s, err := k.Get(id)
		if err != kernel.OK {
			return -int32(err), nil
		}
		return 0, tell("get", encode(s.Desc))
	case opUseList:
		for _, s := range k.Services() {
			more = append(more, tell("use", encodeUse(k, s))...)
		}
		return 0, more
	case opUse:
		s, err := k.Get(id)
		return -int32(err), encodeUse(k, s)
	case opSetLPR:
		if n.ignoreLPR {
			return 0, nil
		}
		return -int32(k.SetLPR(who, id, a)), nil
	case opGetLPR:
		return number(k.LPR(id))
	case opEnable:
		return -int32(k.Enable(who, id, a != 0)), nil
	case opSetRange:
		return -int32(k.SetVNIRange(who, id, a, b)), nil
	case opGetRange:
		from, to, err := k.VNIRange(id)
		return -int32(err), binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, uint32(from)), uint32(to))
	case opSetNetNS:
		return -int32(k.SetNetNS(who, id, a)), nil
	case opGetNetNS:
		return number(k.NetNS(id))
	case opOpenLNI:
		n.calls["open LNI"]++
		n.opener = a
		if raw[0] != n.lniAlloc {
			return -int32(kernel.EINVAL), nil // dispatch in cxi_user_core.c
		}
		return number(k.AllocLNI(kernel.Caller{EUID: a, EGID: b}, id))
	case opCloseLNI:
		return -int32(k.FreeLNI(id)), nil
	case opOpenCP:
		n.calls["open CP"]++
		if kernel.Op(raw[0]) >= n.ops || raw[2] != 0 {
			return -int32(kernel.EINVAL), nil
		}
		vni := binary.NativeEndian.Uint32(raw[4:])
		return -int32(k.AllocCP(kernel.Caller{EUID: a, EGID: b}, id, uint16(vni), int(raw[1]))), nil
	}
	return -int32(kernel.EINVAL), nil
}

// info is struct cxil_devinfo of a NIC.
func (n *Node) info(nic int) []byte {
	b := make([]byte, 152)
	put16 := func(at int, v uint16) { binary.NativeEndian.PutUint16(b[at:], v) }
	put32 := func(at int, v uint32) { binary.NativeEndian.PutUint32(b[at:], v) }
	put32(0, uint32(nic))
	put32(4, 0x100+uint32(nic)) // nid
	copy(b[28:42], fmt.Sprintf("cxi%d", nic))
	copy(b[42:51], "cxi_ss1")
	for i, r := range []core.Resource{core.PTE, core.TXQ, core.TGQ, core.EQ, core.CT, core.AC, core.TLE, core.LE} {
		put16(72+2*i, kernel.Total[r])
	}
	if !n.down[nic] {
		b[112] = 1
	}
	if !n.dead[nic] {
		put32(120, 2)
	}
	put32(124, 0x21)
	if n.virtual[nic] {
		b[144] = 1
	}
	return b
}

// encode is struct cxi_svc_desc.
func encode(d kernel.Desc) []byte {
	b := make([]byte, 68)
	for i, on := range []bool{d.RestrictedMembers, d.RestrictedVNIs, d.RestrictedTCs, d.ResourceLimits, d.Enable, d.System} {
		if on {
			b[0] |= 1 << i
		}
	}
	b[0] |= d.CntrPoolID << 6
	b[1] = d.NumVNIs
	for i, v := range d.VNIs {
		binary.NativeEndian.PutUint16(b[2+2*i:], v)
	}
	for i, on := range d.TCs {
		if on {
			b[10+i] = 1
		}
	}
	for i, m := range d.Members {
		binary.NativeEndian.PutUint32(b[16+8*i:], m.ID)
		binary.NativeEndian.PutUint32(b[20+8*i:], uint32(m.Type))
	}
	for i, l := range d.Limits {
		binary.NativeEndian.PutUint16(b[32+4*i:], l.Max)
		binary.NativeEndian.PutUint16(b[34+4*i:], l.Reserved)
	}
	binary.NativeEndian.PutUint32(b[64:], d.ID)
	return b
}

func decode(b []byte) kernel.Desc {
	bit := func(i int) bool { return b[0]>>i&1 != 0 }
	d := kernel.Desc{
		RestrictedMembers: bit(0), RestrictedVNIs: bit(1), RestrictedTCs: bit(2), ResourceLimits: bit(3), Enable: bit(4), System: bit(5),
		CntrPoolID: b[0] >> 6, NumVNIs: b[1], ID: binary.NativeEndian.Uint32(b[64:]),
	}
	for i := range d.VNIs {
		d.VNIs[i] = binary.NativeEndian.Uint16(b[2+2*i:])
	}
	for i := range d.TCs {
		d.TCs[i] = b[10+i] != 0
	}
	for i := range d.Members {
		d.Members[i] = kernel.Member{ID: binary.NativeEndian.Uint32(b[16+8*i:]), Type: kernel.MemberType(binary.NativeEndian.Uint32(b[20+8*i:]))}
	}
	for i := range d.Limits {
		d.Limits[i] = core.Limit{Max: binary.NativeEndian.Uint16(b[32+4*i:]), Reserved: binary.NativeEndian.Uint16(b[34+4*i:])}
	}
	return d
}

// encodeFail is struct cxi_svc_fail_info.
func encodeFail(f refusal.FailInfo) []byte {
	b := make([]byte, 20)
	for i, v := range f.Avail {
		binary.NativeEndian.PutUint16(b[2*i:], v)
	}
	for i, on := range []bool{f.NoLEPools, f.NoTLEPools} {
		if on {
			b[16+i] = 1
		}
	}
	return b
}

// encodeUse is struct cxi_rsrc_use.
func encodeUse(k *kernel.NIC, s kernel.Service) []byte {
	b := make([]byte, 24)
	binary.NativeEndian.PutUint32(b, s.ID)
	binary.NativeEndian.PutUint32(b[4:], uint32(s.TLEPool))
	for i, v := range k.InUse(s.ID) {
		binary.NativeEndian.PutUint16(b[8+2*i:], v)
	}
	return b
}

var built struct {
	sync.Mutex
	path [16]string
	err  [16]error
	dir  string
}

// build compiles the library, once a test's process and symbol version.
func build(t testing.TB, libcxi int) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("NOT RUN: there is no gcc to build the stand-in for libcxi with; `make test-deps` brings one")
	}
	built.Lock()
	defer built.Unlock()
	if built.path[libcxi] == "" && built.err[libcxi] == nil {
		built.path[libcxi], built.err[libcxi] = compile(cc, libcxi)
	}
	if err := built.err[libcxi]; err != nil {
		t.Fatal(err)
	}
	return built.path[libcxi]
}

func compile(cc string, libcxi int) (string, error) {
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "libcxi")
		if err != nil {
			return "", err
		}
		built.dir = dir
	}
	c, so := filepath.Join(built.dir, "libcxi.c"), filepath.Join(built.dir, fmt.Sprintf("libcxi.so.1.%d", libcxi))
	if err := os.WriteFile(c, source, 0o600); err != nil {
		return "", err
	}
	gcc := exec.Command(cc, "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", fmt.Sprintf("-DLIBCXI=%d", libcxi), "-o", so, c, "-ldl", "-lpthread")
	gcc.Env = append(os.Environ(), "PATH="+filepath.Dir(cc)+":/usr/bin:/bin") // a test's own PATH may have another "as"
	out, err := gcc.CombinedOutput()
	if err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return so, nil
}

// Clean removes what New built; TestMain calls it when every test is over.
func Clean() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		os.RemoveAll(built.dir)
		built.dir, built.path, built.err = "", [16]string{}, [16]error{}
	}
}

// Profiles are the QoS profiles that the driver can be loaded with (its parameter active_qos_profile), and the folders that each makes below
// device/traffic_classes. All releases have these three, and the same folders and files for them: cass_tc.c of shs-cxi-driver 12.0.0 to 14.0.1, and its
// own test t0012-qos.t.
var Profiles = map[string][]string{
	"HPC":              {"dedicated_access", "low_latency", "bulk_data", "best_effort", "ethernet/ethernet_shared", "ethernet/ethernet1"},
	"LL_BE_BD_ET":      {"low_latency", "bulk_data", "best_effort", "ethernet/ethernet_shared", "ethernet/ethernet1"},
	"LL_BE_BD_ET1_ET2": {"low_latency", "bulk_data", "best_effort", "ethernet/ethernet_shared", "ethernet/ethernet1", "ethernet/ethernet2"},
}

// Parameters are names of the driver's module's parameters that tell releases apart: module_param of cass_svc.c and
// cass_sl.c of shs-cxi-driver 12.0.0 to 14.0.1.
func Parameters(b *kernel.Behaviour) []string {
	names := []string{"active_qos_profile", "disable_default_svc"}
	if b.Ops > kernel.OpEnable {
		names = append(names, "default_lnis_per_rgid", "enable_rgid_sharing")
	}
	if b.LEPoolFirst > 0 {
		names = append(names, "cass_sl_pml_rec_timeout_ms")
	}
	if b == &kernel.Main {
		names = append(names, "rmu_pf_max_clients")
	}
	return names
}

// Tree makes a sysfs with NICs, loaded with a QoS profile, and the debugfs in it. The driver's module tells no version (it
// has no MODULE_VERSION), but what it was built from.
func Tree(t testing.TB, root string, b *kernel.Behaviour, nics int, profile string) {
	t.Helper()
	put := func(path, text string) { t.Helper(); put(t, filepath.Join(root, path), text) }
	put("module/cxi_ss1/srcversion", "0A1B2C3D4E5F60718293A4B\n")
	for _, name := range Parameters(b) {
		put("module/cxi_ss1/parameters/"+name, "Y\n")
	}
	groups := "ID: 1 (default)\n" // dump_services of cass_svc.c (12.0.0), of cass_ss1_debugfs.c (13.0.0)
	if b.Overlap != kernel.OverlapAllowed {
		groups = "Rgroups:\nID: 1 (default)\n  LNIs/RGID:1\n"
	}
	for i := range nics {
		device := fmt.Sprintf("class/cxi/cxi%d/device/", i)
		put(fmt.Sprintf("kernel/debug/cxi/cxi%d/services", i), "Resources\n"+groups)
		put(fmt.Sprintf("class/cxi_user/cxi%d/dev", i), fmt.Sprintf("235:%d\n", i))
		put(device+"properties/driver_rev", "[unknown]\n")
		bar := fmt.Sprintf("class/cxi_user/cxi%d/device/resource0", i)
		put(bar, "")
		if err := os.Truncate(filepath.Join(root, bar), 2<<30); err != nil {
			t.Fatal(err)
		}
		put(device+"properties/rgids_avail", "253\n")
		put(device+"traffic_classes/active_qos_profile", profile+"\n")
		put(device+"traffic_classes/untagged_eth_pcp", "6\n")
		for _, c := range Profiles[profile] {
			put(device+"traffic_classes/"+c+"/assured_bw", "10\n")
			put(device+"traffic_classes/"+c+"/ceiling_bw", "100\n")
		}
	}
}
