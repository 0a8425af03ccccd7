package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestTheMemoryLimitIsHeeded: seven eighths of the container's limit are told to the garbage collector; a limit that a
// person has set stays; a machine without a limit or without cgroups is told of in no log.
func TestTheMemoryLimitIsHeeded(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	fails := func(err error) memlimit.Provider { return func() (uint64, error) { return 0, err } }
	for name, c := range map[string]struct {
		limit memlimit.Provider
		env   string
		want  int64
		log   string
	}{
		"a limit":                {limit: memlimit.Limit(2 << 30), want: 1792 << 20},
		"none":                   {limit: fails(memlimit.ErrNoLimit), want: math.MaxInt64},
		"no cgroups":             {limit: fails(memlimit.ErrCgroupsNotSupported), want: 1 << 40},
		"in no cgroup":           {limit: fails(memlimit.ErrNoCgroup), want: 1 << 40},
		"one that is unreadable": {limit: fails(errors.New("read memory.max: denied")), want: 1 << 40, log: "memory.max: denied"},
		"a person's":             {limit: memlimit.Limit(2 << 30), env: "1GiB", want: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv("GOMEMLIMIT", c.env)
			}
			debug.SetMemoryLimit(1 << 40)
			var out bytes.Buffer
			heedMemoryLimit(t.Context(), c.limit, slog.New(slog.NewTextHandler(&out, nil)))
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
			if (c.log == "") != (out.Len() == 0) || !strings.Contains(out.String(), c.log) {
				t.Errorf("logged %q, want %q in it", out.String(), c.log)
			}
		})
	}
}
