package hclfile

import "github.com/hashicorp/hcl/v2/hclwrite"

// Format lays a file out as all are: indented by two, with equal signs below each other. What does not parse is left as it is, with the findings that say why.
func Format(source Source) ([]byte, []Finding) {
	if _, findings := Parse(source); Failed(findings) {
		return source.Text, findings
	}
	return hclwrite.Format(source.Text), nil
}
