package core

// Ability names a SchedulerVerb, or another optional contract. A plugin tells its abilities when it starts, and Weft
// uses no other.
type Ability string

// The abilities of Hooks: AblePhases of those that are Phased, AbleOptions of those that are a RequestParser.
const (
	AblePhases  Ability = "phases"
	AbleOptions Ability = "options"
)

// Abilities are those of a plugin's value.
func Abilities(value any) (able []Ability) {
	if _, ok := value.(Phased); ok {
		able = append(able, AblePhases)
	}
	if _, ok := value.(RequestParser); ok {
		able = append(able, AbleOptions)
	}
	for _, v := range SchedulerVerbs() {
		if verbs[v].bind(value) != nil {
			able = append(able, Ability(v))
		}
	}
	return able
}
