package testbed

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples are the names that Example takes.
func Examples() []string { return []string{"10g-x520", "25-100g", "aws-ena"} }

// Example is a testbed's file, each line explained.
func Example(name string) ([]byte, error) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no example %q; there are %s", name, strings.Join(Examples(), ", "))
	}
	return text, nil
}
