package slurm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mostReply bounds an answer, in bytes: weft.c's MAX_REPLY.
const mostReply = 64 << 10

// compile builds a C file of this folder. It skips the test where that cannot be: `make test-deps` brings the headers.
func compile(t testing.TB, source, to string, flags ...string) {
	t.Helper()
	if _, err := os.Stat("/usr/include/slurm/spank.h"); err != nil {
		t.Skip("no slurm/spank.h here; `make test-deps` brings it")
	}
	args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", to, source}, flags...)
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc %v: %v\n%s", args, err, out)
	}
}

func TestSpankIsSmall(t *testing.T) {
	text, err := os.ReadFile("spank/weft.c")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 250 {
		t.Errorf("weft.c has %d lines; an administrator reads all of them before root loads it, and 250 are enough", n)
	}
	compile(t, "spank/weft.c", filepath.Join(t.TempDir(), "weft.so"), "-shared", "-fPIC")
}

// FuzzSpankReader gives answers to the plugin's reader, which runs under the sanitizers of addresses and of undefined
// behaviour, and compares its deeds with the meaning of the lines.
func FuzzSpankReader(f *testing.F) {
	for _, s := range []string{
		"", "\n", "x", "fail \n", "fail no\n", "print a\nexport A=1\nunset B\n", "export A=1", "export =1\n", "export A\n",
		"export A==\n", "unset \n", "print \n", "fail a\nexport A=1\n", "export A=\x00\n", "exports A=1\n",
		strings.Repeat("print aaaaaaaaaaaaaaa\n", 400),
		"fail " + strings.Repeat("a", 3000) + "\n", "export A=" + strings.Repeat("b", 60000) + "\n",
	} {
		f.Add([]byte(s))
	}
	program := filepath.Join(f.TempDir(), "reader")
	compile(f, "testdata/reader.c", program, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
	cmd := exec.Command(program)
	in, err := cmd.StdinPipe()
	if err != nil {
		f.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			f.Errorf("%v: %s", err, said.String())
		}
	})
	lines := bufio.NewReaderSize(out, 4*mostReply)
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) >= mostReply {
			t.Skip()
		}
		if _, err := in.Write(binary.NativeEndian.AppendUint32(nil, uint32(len(answer)))); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(answer); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for !strings.HasSuffix(got.String(), "\n\n") {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%q: %v: %s", answer, err, said.String())
			}
			got.WriteString(line)
		}
		if want := meaning(answer); got.String() != want {
			t.Fatalf("%q does %q, want %q", answer, got.String(), want)
		}
	})
}

// meaning tells the deeds of an answer as reader.c prints them.
func meaning(answer []byte) string {
	var out strings.Builder
	verdict := ""
	text, whole := strings.CutSuffix(string(answer), "\n")
	switch {
	case len(answer) == 0:
		return "verdict -\n\n"
	case !whole || strings.Contains(text, "\x00"):
		return "verdict the agent's answer is not whole\n\n"
	}
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		name, value, has := strings.Cut(rest, "=")
		switch {
		case !strings.Contains(line, " "):
			verdict = "a line of the agent's answer is not understood: build weft.so of the agent's release"
		case word == "fail" && rest == "":
			verdict = "the agent refuses it"
		case word == "fail":
			verdict = rest[:min(len(rest), 1023)]
		case word == "print":
			fmt.Fprintf(&out, "print %s\n", rest)
		case word == "unset":
			fmt.Fprintf(&out, "unset %s\n", rest)
		case word == "export" && has && name != "":
			fmt.Fprintf(&out, "set %d %s %d %s\n", len(name), name, len(value), value)
		default:
			verdict = "a line of the agent's answer is not understood: build weft.so of the agent's release"
		}
		if verdict != "" {
			break
		}
	}
	if verdict == "" {
		verdict = "-"
	}
	fmt.Fprintf(&out, "verdict %s\n\n", verdict)
	return out.String()
}
