package core

// Ability names a SchedulerVerb, or another optional contract. A plugin tells its abilities when it starts, and Weft
// uses no other.
type Ability string

// AblePhases is the ability of Hooks that are Phased.
const AblePhases Ability = "phases"

// Abilities are those of a plugin's value.
func Abilities(value any) (able []Ability) {
	if _, ok := value.(Phased); ok {
		able = append(able, AblePhases)
	}
	for _, v := range SchedulerVerbs() {
		if verbs[v].bind(value) != nil {
			able = append(able, Ability(v))
		}
	}
	return able
}
