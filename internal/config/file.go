package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
)

// fileFlag names the configuration file.
const fileFlag = "config"

// NotInFile are the flags that the file has no field for, and why.
var NotInFile = map[string]string{
	fileFlag:          "it names the file",
	"help-all":        "it is a question",
	"ignore-taint":    "it is an old name of nodeHealth.startupTaints",
	ignoreUnsupported: "it is about other flags",
}

// maxFile bounds the size of a configuration file, far above what anybody writes.
const maxFile = 4 << 20

// readText reads a configuration file.
func readText(name string) ([]byte, error) {
	// A read of a pipe could wait forever, and would ignore the signal to end.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the configuration: %s is not a regular file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("read the configuration: %s is above %d MiB", name, maxFile>>20)
	}
	return text, nil
}

// load reads the file that --config names, once, and gives its values to the flags that were not given.
func (f *Flags) load() error {
	if f.file == "" || f.document != nil {
		return f.misform
	}
	f.given = map[string]v1alpha1.Value{}
	f.set.Visit(func(flag *pflag.Flag) { f.given[flag.Name] = valueOf(flag) })
	text, err := readText(f.file)
	if err != nil {
		return err
	}
	doc, err := v1alpha1.Read(f.file, text)
	if err != nil {
		return err
	}
	f.document, f.fromFile, f.misread = doc, map[string]v1alpha1.Value{}, map[string]bool{}
	var errs []error
	for _, v := range doc.Values {
		flag := f.set.Lookup(v.Flag)
		if v.Flag == "" || flag == nil || flag.Changed {
			continue // of flag == nil: this command does not run the loop, and has no mode
		}
		f.fromFile[flag.Name] = v
		if err := give(f.set, flag, v.Texts); err != nil {
			errs = append(errs, doc.Wrong(v.Path, "%w", ValueMeant(err)))
			f.misread[flag.Name] = true
		}
	}
	f.misform = errors.Join(errs...)
	return f.misform
}

// give sets a flag, a list to all of the texts.
func give(set *pflag.FlagSet, flag *pflag.Flag, texts []string) error {
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return set.Set(flag.Name, texts[0])
	}
	if err := set.Set(flag.Name, ""); err != nil {
		return err
	}
	return list.Replace(texts)
}

// notBuilt are the fields that are understood and have no effect yet, in the order in which they are told.
var notBuilt = []string{"policies.headroom"}

// idle has a line for each field of the file that has no effect yet.
func (f *Flags) idle() []string {
	var out []string
	for _, field := range notBuilt {
		for _, v := range f.document.Values {
			if under(indices.ReplaceAllString(v.Path, ""), field) {
				out = append(out, f.document.Wrong(v.Path, "it has no effect: %s is not built yet", field).Error())
				break
			}
		}
	}
	return out
}

// indices are those of lists in a path.
var indices = regexp.MustCompile(`\[[0-9]+\]`)

// flagError is what is wrong with the value of a flag; quoted: the text begins with that value.
type flagError struct {
	flag, text string
	quoted     bool
}

func (e flagError) Error() string {
	if e.quoted {
		return "--" + e.flag + "=" + e.text
	}
	return "--" + e.flag + ": " + e.text
}

// placed tells of an error about a flag where its value stands, if that is in the file; nil if that value
// could not be read at all, which is told already.
func (f *Flags) placed(err error) error {
	wrong, ok := errors.AsType[flagError](err)
	if ok && f.misread[wrong.flag] {
		return nil
	}
	if at, from := f.restored[wrong.flag]; ok && from {
		return fmt.Errorf("%s: flags.%s: %s", at, wrong.flag, wrong.text)
	}
	if v, from := f.fromFile[wrong.flag]; ok && from {
		return f.document.Wrong(v.Path, "%s", wrong.text)
	}
	return err
}

// Setting is one value of the configuration, and where it comes from.
type Setting struct {
	Path string `json:"path"`
	// Flag is empty for what no flag can say.
	Flag  string `json:"flag,omitempty"`
	Value string `json:"value"`
	// From is default, flag, or the file with the line.
	From string `json:"from"`
}

// The sources of settings that stand in no file.
const (
	FromDefault = "default"
	FromFlag    = "flag"
)

// Settings are all values, in the order of the file's types: those that flags can say, and what the file
// says beyond them. Call it after Config.
func (f *Flags) Settings() []Setting {
	var out []Setting
	var walk func(v1alpha1.Field)
	walk = func(field v1alpha1.Field) {
		_, list := field.Element()
		if flag := f.set.Lookup(field.Flag); flag != nil {
			from := FromDefault
			if v, ok := f.fromFile[flag.Name]; ok {
				from = fmt.Sprintf("%s:%d", f.document.File, v.Line)
			} else if flag.Changed {
				from = FromFlag
			}
			out = append(out, Setting{field.Path, flag.Name, plain(flag), from})
		} else if f.document != nil && field.Flag == "" && field.Name != "apiVersion" && field.Name != "kind" {
			for _, v := range f.document.Values {
				if under(v.Path, field.Path) && (list || len(field.Fields) == 0) {
					out = append(out, Setting{v.Path, "", v.String(), fmt.Sprintf("%s:%d", f.document.File, v.Line)})
				}
			}
		}
		if !list {
			for _, sub := range field.Fields {
				walk(sub)
			}
		}
	}
	walk(v1alpha1.Tree())
	return out
}

// Default is the value that a flag has without file and command line, in the form that files have; false for
// what is no flag.
func (f *Flags) Default(name string) (string, bool) {
	flag := f.set.Lookup(name)
	if flag == nil {
		return "", false
	}
	return flag.DefValue, true
}

// Usage is the help of a flag, empty if there is no such flag.
func (f *Flags) Usage(name string) string {
	if flag := f.set.Lookup(name); flag != nil {
		_, usage := pflag.UnquoteUsage(flag)
		return usage
	}
	return ""
}

// under reports whether a path is a field, or lies in it.
func under(path, field string) bool {
	return field != "" && (path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"["))
}

// valueOf is the value of a flag in the form that files have.
func valueOf(flag *pflag.Flag) v1alpha1.Value {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return v1alpha1.Value{Texts: list.GetSlice(), List: true}
	}
	return v1alpha1.Value{Texts: []string{flag.Value.String()}}
}

// plain is the same as a text.
func plain(flag *pflag.Flag) string {
	if v := valueOf(flag); v.List {
		return v.String()
	}
	return flag.Value.String()
}

// File gives the flags that were given as the text of a configuration file, with what the file that they
// name says beyond flags; and a line for each flag that has no place in it. Call it after Config.
func (f *Flags) File() (text []byte, left []string, err error) {
	fields, values := v1alpha1.Flags(), map[string]v1alpha1.Value{}
	f.set.Visit(func(flag *pflag.Flag) {
		field, ok := fields[flag.Name]
		if !ok {
			if why := NotInFile[flag.Name]; why != "" && flag.Name != fileFlag {
				left = append(left, fmt.Sprintf("--%s=%s is left out: %s", flag.Name, flag.Value, why))
			}
			return
		}
		v := valueOf(flag)
		v.Path, v.Flag = field.Path, flag.Name
		values[flag.Name] = v
	})
	text, err = v1alpha1.Write(values, f.document)
	return text, left, err
}
