package cli

import (
	"fmt"
	"slices"
	"strings"
)

// Format is how a command prints its result. It is a flag's value: a wrong one is refused before
// anything is read.
type Format string

const (
	Table Format = "text" // for a person; table is the same
	Wide  Format = "wide" // for a person, with more detail where there is any
	JSON  Format = "json"
	YAML  Format = "yaml"
)

var formats = []string{string(Table), string(Wide), string(JSON), string(YAML)}

// Set takes a format by its name.
func (f *Format) Set(name string) error {
	if name == "table" {
		name = string(Table)
	}
	if !slices.Contains(formats, name) {
		return fmt.Errorf("not an output format; use one of %s", strings.Join(formats, ", "))
	}
	*f = Format(name)
	return nil
}

func (f *Format) String() string { return string(*f) }

// Type names the value in a command's help.
func (f *Format) Type() string { return "format" }
