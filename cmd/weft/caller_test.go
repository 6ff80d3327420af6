package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// request is what a user's process is told to try.
type request struct {
	Socket string          `json:"socket,omitempty"`
	Verb   string          `json:"verb,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	File   string          `json:"file,omitempty"` // to read, instead of a call
	Fill   int             `json:"fill,omitempty"` // connections to open and hold, instead of a call
}

// answer is what came of it.
type answer struct {
	Reason core.Reason     `json:"reason,omitempty"` // empty: it was done
	Error  string          `json:"error,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// held are connections that a caller holds open.
var held []net.Conn

// caller tries what it reads from standard input and tells what came of it, until there is no more.
func caller() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r request
		if in.Decode(&r) != nil {
			os.Exit(0)
		}
		if out.Encode(r.try()) != nil {
			os.Exit(1)
		}
	}
}

func (r request) try() (a answer) {
	if r.File != "" {
		if _, err := os.ReadFile(r.File); err != nil {
			return answer{Reason: core.NotAllowed, Error: err.Error()}
		}
		return answer{}
	}
	for range r.Fill {
		c, err := net.Dial("unix", r.Socket)
		if err != nil {
			return answer{Reason: core.NotAllowed, Error: err.Error()}
		}
		held = append(held, c)
	}
	if r.Fill > 0 {
		return answer{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var body any
	if r.Body != nil {
		body = r.Body
	}
	if err := hook.Call(ctx, r.Socket, r.Verb, body, &a.Body); err != nil {
		return answer{Reason: core.AsError(err).Reason, Error: err.Error()}
	}
	return a
}

// person is a process of a user's.
type person struct {
	uid uint32
	in  *json.Encoder
	out *json.Decoder
}

// newPerson starts one, with no group but gid.
func newPerson(t *testing.T, uid, gid uint32) *person {
	t.Helper()
	path, err := exec.LookPath("caller")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path)
	c.Args[0], c.Stderr, c.Dir = "caller", os.Stderr, "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Wait()
	})
	return &person{uid: uid, in: json.NewEncoder(in), out: json.NewDecoder(out)}
}

// try has the process do something.
func (u *person) try(t *testing.T, r request) answer {
	t.Helper()
	var a answer
	if err := u.in.Encode(r); err != nil {
		t.Fatal(err)
	}
	if err := u.out.Decode(&a); err != nil {
		t.Fatalf("uid %d: %v", u.uid, err)
	}
	return a
}
