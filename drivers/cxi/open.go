package cxi

import (
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// open warns of a service that opens every VNI. SHS 12.0 checks no VNI of one without restricted_vnis (valid_svc_vni in
// cass_svc.c), and makes it enabled.
func (n *nic) open(s *desc) []core.Finding {
	who := []string{"every user"}
	if s.has(restrictedMembers) {
		who = nil
		for _, m := range s.members {
			if kind, may := map[uint32]core.OwnerKind{uid: core.OwnerUID, gid: core.OwnerGID}[m.kind]; may {
				who = append(who, core.Owner{Kind: kind, ID: m.id}.String())
			}
		}
	}
	if s.has(restrictedVNIs) || !s.has(enabled) || len(who) == 0 {
		return nil
	}
	return []core.Finding{{
		Severity: core.Critical,
		What: fmt.Sprintf("service %d lets %s use every VNI without a job, which voids isolation",
			s.id, strings.Join(who, " and ")),
		Evidence: "it does not restrict its VNIs, and SHS 12.0 checks none then",
		Remedy: fmt.Sprintf("`cxi_service delete -d %s -s %d`, and let its owner make one that names its VNIs",
			n.name, s.id),
	}}
}
