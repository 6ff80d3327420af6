package pbstest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/people/peopletest"
)

// Exit codes of PBS's commands: the error's number, modulo 256.
const (
	exitUnknown  = 153
	exitBadState = 168
	exitHistory  = 35
)

// maxComment is what pbsnodes -C keeps of a comment, in bytes.
const maxComment = 79

// Command answers PBS's commands, and id and getent for the users of jobs. It is a command.Runner.
func (c *Complex) Command(ctx context.Context, name string, args ...string) ([]byte, error) {
	no := func(code int, format string, v ...any) ([]byte, error) {
		return nil, &command.Failure{Command: name, Says: fmt.Sprintf(name+": "+format, v...), Code: code}
	}
	last := ""
	if len(args) > 0 {
		last = args[len(args)-1]
	}
	switch name {
	case "qstat":
		if args[0] == "-B" {
			others := "True"
			if c.Hides {
				others = "False"
			}
			count := "Queued:0 Running:" + fmt.Sprint(c.running()) + " Exiting:0"
			return []byte("Server: pbs1\n    state_count = " + count + "\n    query_other_jobs = " + others + "\n"), nil
		}
		if c.Hides {
			return nil, nil
		}
		return c.qstat(args)
	case "qmgr":
		if set := setNode.FindStringSubmatch(last); set != nil {
			c.setVnodes(strings.Split(set[1], ","), set[2] == "+", set[3])
			return nil, nil
		}
		return nil, nil // "tester@n1 is unauthorized to access hooks data", on standard error
	case "pbsnodes":
		return c.pbsnodes(args)
	case "id", "getent":
		return users.Run(ctx, name, args...)
	}
	c.mu.Lock()
	j, state := c.find(last), ""
	if j != nil {
		state = j.State
	}
	c.mu.Unlock()
	switch {
	case j == nil:
		return no(exitUnknown, "Unknown Job Id %s", last)
	case state == "F":
		return no(exitHistory, "Job has finished %s", last)
	case state != "R" && (name == "qrerun" || name == "qmsg"):
		return no(exitBadState, "Request invalid for state of job %s", last)
	}
	switch name {
	case "qalter":
		comment, ok := strings.CutPrefix(args[slices.Index(args, "-W")+1], "comment=")
		if !ok {
			return no(2, "illegal -W value")
		}
		c.set(j, func() { j.Comment = strings.Trim(comment, `"`) })
	case "qmsg":
		c.set(j, func() { j.Messages = append(j.Messages, args[len(args)-2]) })
	case "qdel":
		c.Delete(last)
	case "qrerun":
		if !j.Rerunable {
			return no(15029%256, "Job not rerunable %s", last)
		}
		c.Rerun(last)
	default:
		return no(127, "command not found")
	}
	return nil, nil
}

func (c *Complex) running() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jobs {
		if j.State == "R" {
			n++
		}
	}
	return n
}

// setNode is what Weft tells qmgr of vnodes.
var setNode = regexp.MustCompile(`^set node (\S+) state ([+-])= offline, comment = "([^"]*)"$`)

func (c *Complex) setVnodes(names []string, offline bool, comment string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hosts {
		for _, v := range h.Vnodes {
			if slices.Contains(names, v.Name) {
				v.Offline, v.Comment = offline, comment
			}
		}
	}
}

// users are those whose jobs a test submits.
var users = peopletest.Table{
	Users:  map[uint32]string{1001: "tester", 1002: "tester2", 1003: "tester3"},
	Groups: map[uint32]string{1001: "tester", 1002: "tester2", 1003: "tester3", 50: "staff"},
	Member: map[string][]uint32{"tester": {1001, 50}, "tester2": {1002, 50}, "tester3": {1003, 50}},
}

func (c *Complex) qstat(args []string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	some, all := c.jobs, slices.Contains(args, "-x")
	at := slices.Index(args, "-D") + 1
	delimiter, ids := args[at], args[at+1:]
	if len(ids) > 0 {
		some = nil
	}
	for _, id := range ids { // one that fails spoils the whole answer
		j := c.find(id)
		switch {
		case j == nil || c.Forgets && j.State == "F":
			return nil, &command.Failure{Command: "qstat", Says: "qstat: Unknown Job Id " + id, Code: exitUnknown}
		case all && c.Forgets:
			return nil, nil
		case !all && j.State == "F":
			return nil, &command.Failure{Command: "qstat", Says: "qstat: " + id + " Job has finished", Code: exitHistory}
		}
		some = append(some, j)
	}
	var out strings.Builder
	for _, j := range some {
		if j.State != "F" || all {
			out.WriteString(Printed(delimiter, j.ID, j.attributes()))
		}
	}
	return []byte(out.String()), nil
}

// Attribute is one of a job, with its value as pbs_server has it.
type Attribute struct{ Name, Value string }

// Printed is a job as qstat -f -F dsv -D DELIMITER prints it (display_statjob and prt_attr in qstat.c, OpenPBS 23.06.06).
func Printed(delimiter, id string, all []Attribute) string {
	out := "Job Id: " + id
	for _, a := range all {
		out += delimiter + a.Name + "=" + shown(fed(escaped(a.Value, delimiter)))
	}
	return out + "\n"
}

// escaped is escape_delimiter of misc_utils.c.
func escaped(text, delimiter string) string {
	var out strings.Builder
	for text != "" {
		n := 1
		if strings.HasPrefix(text, delimiter) {
			n = len(delimiter)
		}
		if n > 1 || text[:1] == delimiter || text[0] == '\\' && (len(text) == 1 || strings.IndexByte(`'",`, text[1]) < 0) {
			out.WriteByte('\\')
		}
		out.WriteString(text[:n])
		text = text[n:]
	}
	return out.String()
}

// fed is convert_feed_chars of qstat.c.
func fed(text string) string { return strings.NewReplacer("\n", `\n`, "\f", `\f`).Replace(text) }

// attributes are a job's, in qstat's order as far as it matters: Job_Name is first. Times are as ctime(3) writes them.
func (j *Job) attributes() []Attribute {
	at := func(t int64) string { return time.Unix(t, 0).UTC().Format(time.ANSIC) }
	a := []Attribute{
		{"Job_Name", cmp.Or(j.Name, "STDIN")}, {"Job_Owner", j.User + "@" + Server}, {"job_state", j.State},
		{"queue", j.Queue}, {"server", Server},
	}
	add := func(name, value string) {
		if value != "" {
			a = append(a, Attribute{name, value})
		}
	}
	add("Account_Name", j.Account)
	add("ctime", at(j.Submitted))
	if len(j.On) > 0 {
		add("exec_host", j.execHost())
		add("exec_vnode", j.ExecVnode())
	}
	add("qtime", at(j.Submitted))
	add("Rerunable", map[bool]string{true: "True", false: "False"}[j.Rerunable])
	resources := map[string]string{
		"ncpus": fmt.Sprint(j.Hosts * j.Cores), "nodect": fmt.Sprint(j.Hosts), "place": "pack",
		"select": fmt.Sprintf("%d:ncpus=%d", j.Hosts, j.Cores),
	}
	maps.Copy(resources, j.Resources)
	for _, k := range slices.Sorted(maps.Keys(resources)) {
		add("Resource_List."+k, resources[k])
	}
	if len(j.On) > 0 {
		add("stime", at(j.Submitted+5))
	}
	add("substate", fmt.Sprint(j.Substate))
	add("Variable_List", "PBS_O_HOME=/users/"+j.User+",PBS_O_LANG=C")
	add("euser", j.User)
	add("egroup", j.Group)
	add("comment", j.Comment)
	if j.Runs > 0 {
		add("run_count", fmt.Sprint(j.Runs))
	}
	add("reserve_ID", j.Reserved)
	if j.State == "F" {
		add("Exit_status", fmt.Sprint(j.Exit))
	}
	add("project", "_pbs_project_default")
	return a
}

func (c *Complex) pbsnodes(args []string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(args, "-a") {
		var out bytes.Buffer
		for _, h := range c.hosts {
			out.Write(h.shown())
		}
		return out.Bytes(), nil
	}
	host := args[len(args)-1]
	i := slices.IndexFunc(c.hosts, func(h *Host) bool { return h.Name == host })
	if slices.Contains(args, "-o") {
		if i < 0 {
			return nil, &command.Failure{Command: "pbsnodes", Says: "Error marking node " + host + " - Unknown node", Code: 1}
		}
		comment := args[slices.Index(args, "-C")+1]
		for _, v := range c.hosts[i].Vnodes {
			v.Offline, v.Comment = true, comment[:min(len(comment), maxComment)]
		}
		return nil, nil
	}
	if slices.Contains(args, "-r") && i >= 0 {
		for _, v := range c.hosts[i].Vnodes {
			v.Offline = false
			if at := slices.Index(args, "-C"); at >= 0 { // else the comment stays
				v.Comment = args[at+1]
			}
		}
		return nil, nil
	}
	if i < 0 {
		return nil, &command.Failure{Command: "pbsnodes", Says: "Node: " + host + ",  Error: Unknown node", Code: 1}
	}
	return c.hosts[i].shown(), nil
}

// shown is the host as pbsnodes shows its vnodes.
func (h *Host) shown() []byte {
	var out bytes.Buffer
	for _, v := range h.Vnodes {
		fmt.Fprintf(&out, "%s\n     Mom = %s\n     state = %s\n     resources_available.host = %s\n", v.Name, h.Name, v.state(), h.Name)
		if v.Cores > 0 {
			fmt.Fprintf(&out, "     resources_available.ncpus = %d\n", v.Cores)
		}
		if v.Comment != "" {
			fmt.Fprintf(&out, "     comment = %s\n", shown(v.Comment))
		}
		fmt.Fprintf(&out, "     sharing = %s\n\n", cmp.Or(v.Sharing, "default_shared"))
	}
	return out.Bytes()
}

// state is the vnode's as pbsnodes shows it.
func (v *Vnode) state() string {
	switch {
	case v.Offline && v.Down:
		return "offline,down"
	case v.Offline:
		return "offline"
	case v.Down:
		return "down"
	}
	return "free"
}

// shown is text as show_nonprint_chars has it: ^ and the byte plus 64 for each that is below 32 where char is signed.
func shown(text string) string {
	var out []byte
	for _, b := range []byte(text) {
		if int8(b) < 32 && b != '\n' && b != '\t' {
			out = append(out, '^')
			if b += 64; b == 0 { // printf ends there
				break
			}
		}
		out = append(out, b)
	}
	return string(out)
}
