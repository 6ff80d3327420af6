package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// JUnit writes the report in the form that CI systems read.
func (r *Report) JUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "weft plugin verify " + r.Plugin, Tests: len(r.Results), Failures: r.Failed, Skipped: r.Skipped, Time: seconds(r.Took),
		Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05"),
	}
	for _, one := range r.Results {
		c := junitCase{Class: string(one.Of) + "." + one.Rule, Name: one.Case, Time: seconds(one.Took)}
		why := strings.Join(one.Why, "\n")
		switch one.Outcome {
		case Failed:
			c.Failure = &junitWhy{Message: one.Why[0], Text: why}
		case Skipped:
			c.Skipped = &junitWhy{Message: why}
		case Passed:
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Time    string    `xml:"time,attr"`
	Failure *junitWhy `xml:"failure,omitempty"`
	Skipped *junitWhy `xml:"skipped,omitempty"`
}

type junitWhy struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
