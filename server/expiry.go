package server

import "time"

// ExpiresSoon is when a certificate's end is spoken of: so long before.
const ExpiresSoon = 30 * 24 * time.Hour

// Ending is what is to be said of nodes' certificates that end soon, or have ended.
type Ending struct {
	Nodes int       `json:"nodes"`
	First string    `json:"first"` // of these, whose ends first
	Ends  time.Time `json:"ends"`
}

// EndingOf gives what is to be said of the certificates that nodes have shown; nil: all last.
func EndingOf(shown map[string]time.Time) *Ending {
	e := &Ending{}
	for node, t := range shown {
		if t.IsZero() || time.Until(t) > ExpiresSoon {
			continue
		}
		if e.Nodes++; e.Nodes == 1 || t.Before(e.Ends) || t.Equal(e.Ends) && node < e.First {
			e.First, e.Ends = node, t
		}
	}
	if e.Nodes == 0 {
		return nil
	}
	return e
}
