// Package v1alpha1 is the configuration file: its types, how it is read, and what it says of itself.
//
// The types in types.go are the one source: reading is led by them, their comments are what
// `plimsoll config explain` and the JSON schema say, and a test of package config compares them with the
// flags. Reading is strict. Whatever is wrong is told at once, each with file, line and path, and for a
// field that does not exist with the one that was meant.
//
// What flows in: the text of a file. What flows out: a Document, the values in it with their lines, and the
// tree of all fields. What the values mean is package config's.
//
// Who may import it: config, migrate and hosts.
package v1alpha1
