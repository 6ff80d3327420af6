package rpc

import (
	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

func encodeStepID(s core.StepID) *corev1.StepID {
	return &corev1.StepID{Run: encodeRun(s.Run), Step: utf(s.Step)}
}

func (d *decoder) stepID(p *corev1.StepID) core.StepID {
	return core.StepID{Run: d.run(p.GetRun()), Step: d.word("step", p.GetStep())}
}

func encodeStepHeld(s core.StepHeld) *authorityv1.StepHeld {
	return &authorityv1.StepHeld{Id: encodeStepID(s.StepID), Vni: uint32(s.VNI), Nodes: count(s.Nodes), Over: s.Over}
}

func (d *decoder) stepHeld(p *authorityv1.StepHeld) core.StepHeld {
	return core.StepHeld{
		StepID: d.stepID(p.GetId()), VNI: d.optionalVNI(p.GetVni()), Nodes: d.count("nodes", p.GetNodes()), Over: p.GetOver(),
	}
}

// optionalVNI is a VNI, or 0 where there is none.
func (d *decoder) optionalVNI(v uint32) core.VNI {
	if v > 65535 {
		d.fail("VNI %d: it is not from 0 to 65535", v)
		return 0
	}
	return core.VNI(v)
}
