package core

// Ability names an optional contract. A plugin tells its abilities when it starts, and Weft uses no other.
type Ability string

// The abilities.
const (
	AblePhases   Ability = "phases"   // of Hooks that are Phased
	AbleRequeue  Ability = "requeue"  // of a Scheduler that is a Requeuer
	AbleResume   Ability = "resume"   // of a Scheduler that is a Resumer
	AbleAnnotate Ability = "annotate" // of a Scheduler that is an Annotator
)

// Abilities of a plugin's value are the optional contracts that it implements.
func Abilities(value any) (able []Ability) {
	for _, a := range abilities {
		if a.has(value) {
			able = append(able, a.name)
		}
	}
	return able
}

var abilities = []struct {
	name Ability
	has  func(any) bool
}{
	{AblePhases, implements[Phased]},
	{AbleRequeue, implements[Requeuer]},
	{AbleResume, implements[Resumer]},
	{AbleAnnotate, implements[Annotator]},
}

func implements[C any](value any) bool {
	_, ok := value.(C)
	return ok
}
