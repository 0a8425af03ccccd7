package config

import (
	"errors"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// checkCloud is what the provider finds wrong with its flags and with the values of --nodes and
// --node-group-auto-discovery. What is missing is not wrong yet: the command that asks the provider says so, and
// knows the environment.
func (f *Flags) checkCloud(c *Config) []error {
	if f.entry(c.Cloud.Provider) == nil {
		return nil
	}
	_, maker := f.Provider(*c)
	err := maker.Check(wiring.Host{
		Nodes: c.Cloud.Nodes, Discovery: c.Cloud.Discovery, Getenv: func(string) string { return "" },
	})
	var out []error
	for _, err := range parts(err) {
		if _, missing := errors.AsType[wiring.Missing](err); missing {
			continue
		}
		name, why, named := strings.Cut(strings.TrimPrefix(err.Error(), "--"), "=")
		if named && f.set.Lookup(name) != nil {
			err = flagError{flag: name, text: why, quoted: true}
		}
		out = append(out, err)
	}
	return out
}

// parts are the errors that were joined to one.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}
