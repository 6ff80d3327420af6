package kerneltest

import "github.com/weft-hpc/weft/drivers/sim/kernel"

const entries = "alloc_ac_entries, cass_svc.c; cxi_ac_entry_list_insert, cxi_ac_entry_list.c"

// members are the rules of a service's members.
var members = []row{
	{"alloc: member type 4", validation, alloc(Members(kernel.Member{Type: 4})), always(invalid)},
	{"alloc: member type 4 without restricted_members", validation,
		alloc(Everybody, Members(kernel.Member{Type: 4})), always(ok)},
	{"alloc: a NET_NS member", validation, alloc(Members(netNS)), from140(invalid, ok)},
	{"alloc: two NET_NS members", entries, alloc(Members(netNS, netNS)), from140(invalid, exists)},
	{"alloc: a uid, then a NET_NS member", entries, alloc(Members(UID(5), netNS)), from140(invalid, ok)},
	{"alloc: uid 4294967295", entries, alloc(Members(nobody)), from130(ok, badr)},
	{"alloc: gid 4294967295", entries, alloc(Members(UID(5), GID(nobody.ID))), from130(ok, badr)},
	{"alloc: uid 4294967295 twice", entries, alloc(Members(nobody, nobody)), from130(ok, badr)},
	{"alloc: a member twice", entries, alloc(Members(UID(5), UID(5))), from131(ok, exists)},
	{"alloc: a uid and a gid of one number", entries, alloc(Members(UID(5), GID(5))), always(ok)},
	{"alloc: a VNI of another service, and uid 4294967295", "cxi_svc_alloc, cass_svc.c",
		next([]Change{VNIs(100), Members(nobody)}, 1), Answers{ok, exists, badr, badr, badr, badr}},
}
