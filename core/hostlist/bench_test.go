package hostlist

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// jobLists are lists of a job on all 11,136 nodes of El Capitan, as a scheduler may write them.
func jobLists() map[string]string {
	var scattered, names []string
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 11136 {
		names = append(names, fmt.Sprintf("x%dc%ds%db%dn%d", 1000+i/256, i/32%8, i/4%8, i/2%2, i%2))
	}
	for _, i := range r.Perm(100000)[:11136] {
		scattered = append(scattered, fmt.Sprintf("n%05d", i))
	}
	return map[string]string{"one-range": "elcap[1-11136]", "names": strings.Join(names, ","), "scattered": strings.Join(scattered, ",")}
}

func BenchmarkContains(b *testing.B) {
	for name, text := range jobLists() {
		b.Run(name, func(b *testing.B) {
			l, err := Parse(text)
			if err != nil {
				b.Fatal(err)
			}
			s, err := ParseSet(text)
			if err != nil {
				b.Fatal(err)
			}
			nodes, _ := l.ExpandMax(20000)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; !s.Contains(nodes[i%len(nodes)]) {
					b.Fatal("not there")
				}
			}
		})
	}
}

func BenchmarkParseSet(b *testing.B) {
	for name, text := range jobLists() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseSet(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	l, err := Parse(jobLists()["names"])
	if err != nil {
		b.Fatal(err)
	}
	names, _ := l.ExpandMax(20000)
	b.ReportAllocs()
	for b.Loop() {
		Fold(names)
	}
}
