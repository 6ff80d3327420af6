package cxi

// traits are what a driver can do.
type traits struct {
	release         string // that it behaves as; two where they do not differ; empty where it is not known yet
	told            string // by what, in words
	unchecked       bool   // nothing keeps VNIs apart; SHS 12.0
	named           bool   // a service has the VNIs that it names, also without restricted_vnis; SHS 13.0
	ranges          bool   // VNI ranges; SHS 13.1
	netns           bool   // network namespaces; SHS 14.0
	openIgnore      bool   // an ignored member lets everybody in; SHS 13.0
	exact           bool   // two services may have one VNI; SHS 12.0, and again from 14.0.1 on
	leByReservation bool   // LE pools are taken by reservations alone; SHS 14.0.1
	library         int    // N of LIBCXI_1.N, as its release ships
	fit             fit    // of the library that is loaded
}

// name is the release in words.
func (t traits) name() string {
	if t.release == "" {
		return "of a release that is not known yet"
	}
	return "SHS " + t.release
}

// Releases, by their place in releases.
const (
	shs120 = iota
	shs130
	shs131
	shs140
	shs1401
	shsNewer
)

var releases = []traits{
	shs120:   {release: "12.0", unchecked: true, exact: true, library: 8},
	shs130:   {release: "13.0", named: true, openIgnore: true, library: 8},
	shs131:   {release: "13.1", ranges: true, library: 9},
	shs140:   {release: "14.0.0", ranges: true, netns: true, library: 10},
	shs1401:  {release: "14.0.1", ranges: true, netns: true, exact: true, leByReservation: true, library: 10},
	shsNewer: {release: "newer than 14.0.1", ranges: true, netns: true, exact: true, leByReservation: true, library: 11},
}

// key is what an answer is good for: one load of the driver's module under one library.
type key struct {
	load string
	lib  *library
}

// traits asks which release a driver is, once for each key. A release that cannot be told yet is asked for again.
func (n *nic) traits() traits {
	d, sys := n.d, n.d.now().sys
	now := key{sys.load(), n.lib}
	d.mu.Lock()
	t, known := d.known[now]
	d.mu.Unlock()
	if known {
		return t
	}
	t = n.tell(sys)
	t.fit = n.fit(t)
	if t.release != "" && !n.over() {
		d.mu.Lock()
		d.known[now] = t
		d.mu.Unlock()
	}
	return t
}
