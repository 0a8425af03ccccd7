package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// PriceFile is what a price file says, apart from the short form: a map of node group or instance
// type to the price of a node per hour.
type PriceFile struct {
	// Currency is that of all amounts, such as USD.
	Currency string `yaml:"currency"`
	// Groups are prices of a node by its group.
	Groups map[string]*float64 `yaml:"groups"`
	// Instances are prices of a node by its type, and by zone and capacity type where these count.
	Instances []InstancePrice `yaml:"instances"`
	// PerCore and PerGiB make a price for nodes that have no other.
	PerCore *float64 `yaml:"perCore"`
	PerGiB  *float64 `yaml:"perGiB"`
	// PerUnit are prices of one of an extended resource, such as nvidia.com/gpu, that a node has beside these.
	PerUnit map[string]*float64 `yaml:"perUnit"`
	// Commitments are prices that hold for the first few only.
	Commitments []CommitmentPrice `yaml:"commitments"`
}

// CommitmentPrice is what each node, core or GiB costs per hour, of the first few. Without groups and types it is for
// all nodes.
type CommitmentPrice struct {
	Name         string   `yaml:"name"`
	Groups       []string `yaml:"groups"`
	Types        []string `yaml:"types"`
	Zone         string   `yaml:"zone"`
	CapacityType string   `yaml:"capacityType"`
	// One of these.
	Nodes *float64 `yaml:"nodes"`
	Cores *float64 `yaml:"cores"`
	GiB   *float64 `yaml:"gib"`

	PerHour *float64 `yaml:"perHour"`
}

// InstancePrice is what a node of a type costs per hour. An empty zone or capacity type is any.
type InstancePrice struct {
	Type         string   `yaml:"type"`
	Zone         string   `yaml:"zone"`
	CapacityType string   `yaml:"capacityType"`
	PerHour      *float64 `yaml:"perHour"`
}

// ReadPrices reads a price file in either form.
func ReadPrices(file string) (*model.Prices, error) {
	// A read of a pipe could wait forever, and would ignore the signal to end.
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot read the prices: %s is not a regular file", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the prices: %w", err)
	}
	prices, err := ParsePrices(text)
	if err != nil {
		return nil, inFile(file, err)
	}
	return prices, nil
}

// inFile names the file of an error, and its line where the reader of YAML tells one: FILE:LINE, as editors open it.
func inFile(file string, err error) error {
	text := err.Error()
	at := lineOfYAML.FindStringSubmatchIndex(text)
	if at == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%s: %s", file, text[at[2]:at[3]], text[:at[0]]+text[at[1]:])
}

// lineOfYAML is how the reader of YAML tells a line.
var lineOfYAML = regexp.MustCompile(`(?:yaml: )?\bline (\d+): `)

// ParsePrices reads what a price file says, in either form.
func ParsePrices(text []byte) (*model.Prices, error) {
	raw, err := onlyDocument(text)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, errors.New("there is no price in it")
	}
	if !isLong(raw) {
		names, err := shortPrices(raw)
		if err != nil {
			return nil, err
		}
		return &model.Prices{Names: names}, nil
	}
	var f PriceFile
	if err := yaml.UnmarshalStrict(model.YAMLVersion.ReplaceAll(text, nil), &f); err != nil {
		return nil, fmt.Errorf("want currency, groups, instances, perCore, perGiB, perUnit and commitments: %w",
			inOneLine(err))
	}
	return f.Prices()
}

// isLong reports whether a document is in the long form: it has one of its fields, and not as the
// price of a group or an instance type that is called so.
func isLong(raw map[string]any) bool {
	for _, key := range []string{"currency", "groups", "instances", "perUnit", "commitments"} {
		switch raw[key].(type) {
		case nil, int, uint64, float64:
		default:
			return true
		}
	}
	return raw["perCore"] != nil || raw["perGiB"] != nil
}

func shortPrices(raw map[string]any) (map[string]float64, error) {
	prices := make(map[string]float64, len(raw))
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		var price float64
		switch n := raw[key].(type) {
		case int:
			price = float64(n)
		case uint64:
			price = float64(n)
		case float64:
			price = n
		default:
			return nil, fmt.Errorf("%s: %v is not a number", key, n)
		}
		if key == "" {
			return nil, errors.New("a price without a name")
		}
		if err := checkPrice(key, price); err != nil {
			return nil, err
		}
		prices[key] = price
	}
	return prices, nil
}

func checkPrice(field string, price float64) error {
	if !model.IsPrice(price) {
		return fmt.Errorf("%s: %v is not a price: want 0 to %v", field, price, model.MostPrice)
	}
	return nil
}

// priceOf is a price of a map. One that is left empty is not zero.
func priceOf(field string, price *float64) (float64, error) {
	if price == nil {
		return 0, fmt.Errorf("%s: the price is missing", field)
	}
	return *price, checkPrice(field, *price)
}

// Prices checks what a price file says. Each mistake names its field.
func (f *PriceFile) Prices() (*model.Prices, error) {
	out := &model.Prices{Currency: f.Currency, PerCore: f.PerCore, PerGiB: f.PerGiB}
	var errs []error
	wrong := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if f.Currency != "" && !isCurrency(f.Currency) {
		wrong(fmt.Errorf("currency: %q is not a currency's code, such as USD", f.Currency))
	}
	for _, id := range slices.Sorted(maps.Keys(f.Groups)) {
		if out.Groups == nil {
			out.Groups = map[provider.GroupID]float64{}
		}
		if id == "" {
			wrong(errors.New("groups: a price without a name"))
		}
		price, err := priceOf("groups."+id, f.Groups[id])
		wrong(err)
		out.Groups[provider.GroupID(id)] = price
	}
	seen := map[provider.Price]bool{}
	for i, in := range f.Instances {
		at := fmt.Sprintf("instances[%d]", i)
		entry := provider.Price{InstanceType: in.Type, Zone: in.Zone, CapacityType: in.CapacityType}
		switch {
		case in.Type == "":
			wrong(fmt.Errorf("%s.type: which instance type?", at))
		case in.CapacityType != "" && in.CapacityType != provider.Spot && in.CapacityType != provider.OnDemand:
			wrong(fmt.Errorf("%s.capacityType: %q is neither %s nor %s", at, in.CapacityType, provider.OnDemand, provider.Spot))
		case in.PerHour == nil:
			wrong(fmt.Errorf("%s.perHour: the price is missing", at))
		case seen[entry]:
			wrong(fmt.Errorf("%s: the same type, zone and capacity type have a price already", at))
		default:
			wrong(checkPrice(at+".perHour", *in.PerHour))
			seen[entry] = true
			entry.PerHour = *in.PerHour
			out.Instances = append(out.Instances, entry)
		}
	}
	f.parts(out, wrong)
	f.commitments(out, wrong)
	if len(errs) == 0 && len(out.Groups)+len(out.Instances)+len(out.Commitments) == 0 && out.PerCore == nil {
		wrong(errors.New("there is no price in it"))
	}
	if len(errs) > 0 {
		slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// parts checks the prices of what nodes have.
func (f *PriceFile) parts(out *model.Prices, wrong func(error)) {
	if (f.PerCore == nil) != (f.PerGiB == nil) {
		wrong(errors.New("perCore and perGiB: one without the other makes no price of a node; 0 says that it costs nothing"))
	}
	for field, price := range map[string]*float64{"perCore": f.PerCore, "perGiB": f.PerGiB} {
		if price != nil {
			wrong(checkPrice(field, *price))
		}
	}
	if len(f.PerUnit) > 0 && f.PerCore == nil {
		wrong(errors.New("perUnit: it is added to the price of cores and memory: perCore and perGiB are missing; 0 says " +
			"that they cost nothing"))
	}
	for _, name := range slices.Sorted(maps.Keys(f.PerUnit)) {
		if errs := validation.IsQualifiedName(name); len(errs) > 0 || !strings.Contains(name, "/") {
			wrong(fmt.Errorf("perUnit: %q is no extended resource, such as nvidia.com/gpu", name))
		}
		price, err := priceOf("perUnit."+name, f.PerUnit[name])
		wrong(err)
		if out.PerUnit == nil {
			out.PerUnit = map[corev1.ResourceName]float64{}
		}
		out.PerUnit[corev1.ResourceName(name)] = price
	}
}

// commitments checks the prices that hold for the first few only.
func (f *PriceFile) commitments(out *model.Prices, wrong func(error)) {
	names := map[string]bool{}
	for i := range f.Commitments {
		in, at := &f.Commitments[i], fmt.Sprintf("commitments[%d]", i)
		c := model.Commitment{Name: in.Name, Types: in.Types, Zone: in.Zone, CapacityType: in.CapacityType}
		said := 0
		for unit, amount := range []*float64{in.Nodes, in.Cores, in.GiB} {
			if amount != nil {
				said, c.Unit, c.Amount = said+1, model.CommitmentUnit(unit), *amount
			}
		}
		switch {
		case in.Name == "":
			wrong(fmt.Errorf("%s.name: what is it called?", at))
		case names[in.Name]:
			wrong(fmt.Errorf("%s.name: there is another %s", at, in.Name))
		case said != 1:
			wrong(fmt.Errorf("%s: want one of nodes, cores and gib: what it holds for", at))
		case !(c.Amount > 0 && c.Amount <= model.MostPrice):
			wrong(fmt.Errorf("%s: %v is no number of what it holds for: want more than 0", at, c.Amount))
		case in.PerHour == nil:
			wrong(fmt.Errorf("%s.perHour: the price is missing", at))
		case in.CapacityType != "" && in.CapacityType != provider.Spot && in.CapacityType != provider.OnDemand:
			wrong(fmt.Errorf("%s.capacityType: %q is neither %s nor %s", at, in.CapacityType, provider.OnDemand, provider.Spot))
		default:
			wrong(checkPrice(at+".perHour", *in.PerHour))
			c.PerHour = *in.PerHour
			for j, pattern := range in.Groups {
				if err := policy.CheckPattern(pattern); err != nil {
					wrong(fmt.Errorf("%s.groups[%d]: %w", at, j, err))
				}
				c.Groups = append(c.Groups, policy.Pattern(pattern))
			}
			out.Commitments = append(out.Commitments, c)
		}
		names[in.Name] = true
	}
}

func isCurrency(code string) bool {
	return len(code) == 3 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// inOneLine is an error of the YAML reader, which writes a line for each mistake.
func inOneLine(err error) error {
	if several := (*yaml.TypeError)(nil); errors.As(err, &several) {
		var out []string
		for _, one := range several.Errors {
			one = ofAnotherType.ReplaceAllStringFunc(one, func(text string) string {
				m := ofAnotherType.FindStringSubmatch(text)
				return fmt.Sprintf("want %s, not %s", kindsOfYAML[m[3]], cmp.Or(m[2], kindsOfYAML[m[1]]))
			})
			out = append(out, noField.ReplaceAllString(one, "field $1: there is no such field"))
		}
		return errors.New(strings.Join(out, "; "))
	}
	return err
}

// What the reader of YAML says of a value of another type than its field's, and of a field that is not there.
var (
	ofAnotherType = regexp.MustCompile("cannot unmarshal !!(str|int|float|bool|seq|map)(?: `(.*)`)? into " +
		"(string|float64|map|\\[\\]|config).*")
	noField     = regexp.MustCompile(`field (\S+) not found in .*`)
	kindsOfYAML = map[string]string{
		"str": "a text", "int": "a number", "float": "a number", "bool": "true or false", "seq": "a list", "map": "a map",
		"string": "a text", "float64": "a number", "[]": "a list", "config": "a map",
	}
)

// onlyDocument reads the one document of a YAML text to the end. One of nothing but
// comments does not count. sigs.k8s.io/yaml would drop what follows the first one.
func onlyDocument(text []byte) (map[string]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(model.YAMLVersion.ReplaceAll(text, nil)))
	decoder.SetStrict(true)
	var only map[string]any
	for {
		var document map[string]any
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return only, nil
		case err != nil:
			return nil, fmt.Errorf("want one YAML document, a map of node group or instance type to price: %w",
				inOneLine(err))
		case document == nil:
		case only != nil:
			return nil, errors.New("there is more than one YAML document in it; write all prices into one")
		default:
			only = document
		}
	}
}
