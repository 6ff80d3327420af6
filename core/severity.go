package core

func (s Severity) String() string {
	return [...]string{"good", "notice", "warning", "critical"}[min(s, Critical)]
}
