package core

// StepID names a step of a run. Step is the scheduler's id for it, which no other step of the run ever has.
type StepID struct {
	Run
	Step string
}

// Drawn is the answer to a step that asks for its own VNI.
type Drawn struct {
	VNI     VNI    // one of the last Grant.Steps of Grant.VNIs; 0: the step shares the job's
	Warning string // why it shares; empty: it does not, or its user knows
}

// StepHeld is a node's word on a step that asked for its own VNI.
type StepHeld struct {
	StepID
	VNI   VNI // 0: the step shares the job's, or the node does not know
	Nodes int // how many nodes the step has
	Over  bool
}

// Own are the VNIs that the job itself uses. Its steps draw from the others.
func (g Grant) Own() []VNI { return g.VNIs[:max(0, len(g.VNIs)-g.Steps)] }

// Drawable are the VNIs that steps of the job draw from.
func (g Grant) Drawable() []VNI { return g.VNIs[max(0, len(g.VNIs)-g.Steps):] }
