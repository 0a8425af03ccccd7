package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// args are a line's key=value words; a word without a value is "".
type args struct {
	name string
	m    map[string]string
	used map[string]bool
}

func (a args) get(key, otherwise string) string {
	a.used[key] = true
	if v, ok := a.m[key]; ok {
		return v
	}
	return otherwise
}

func (a args) has(key string) bool {
	a.used[key] = true
	_, ok := a.m[key]
	return ok
}

func (a args) number(key string, otherwise int) int {
	n, err := strconv.Atoi(a.get(key, strconv.Itoa(otherwise)))
	if err != nil {
		panic(fmt.Errorf("%s: %w", key, err))
	}
	return n
}

func (a args) duration(key string) time.Duration {
	d, err := time.ParseDuration(a.get(key, "0s"))
	if err != nil {
		panic(fmt.Errorf("%s: %w", key, err))
	}
	return d
}

// oneOf is a word of those that are known.
func (a args) oneOf(key, otherwise string, known ...string) string {
	v := a.get(key, otherwise)
	if v != otherwise && !slices.Contains(known, v) {
		panic(fmt.Errorf("%s: %q is none of %s", key, v, strings.Join(known, ", ")))
	}
	return v
}

// list is words with commas between them, none for an empty one.
func (a args) list(key string) []string {
	v := a.get(key, "")
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// alternatives is words with bars between them, none for an empty one.
func (a args) alternatives(key string) []string {
	v := a.get(key, "")
	if v == "" {
		return nil
	}
	return strings.Split(v, "|")
}

// pair splits "key:value".
func pair(s string) (string, string) {
	k, v, _ := strings.Cut(s, ":")
	return long(k), v
}

func long(key string) string {
	switch key {
	case "zone":
		return corev1.LabelTopologyZone
	case "host":
		return corev1.LabelHostname
	}
	return key
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
