package config

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestWrongValuesInWords: what a flag or a price file cannot be is told without the words of the program's readers.
func TestWrongValuesInWords(t *testing.T) {
	for text, want := range map[string]string{
		"--int=abc":                  `invalid argument "abc" for "--int" flag: write a whole number such as 10`,
		"--int=99999999999999999999": `invalid argument "99999999999999999999" for "--int" flag: it is too large: write a smaller number`,
		"--float=abc":                `invalid argument "abc" for "--float" flag: write a number such as 0.5`,
		"--switch=maybe":             `invalid argument "maybe" for "--switch" flag: write true or false`,
		"--time=5":                   `invalid argument "5" for "--time" flag: there is no unit: write 5s for seconds, or 5m for minutes`,
		"--time=2d":                  `invalid argument "2d" for "--time" flag: there are no days or weeks, write 48h`,
		"--time=soon":                `invalid argument "soon" for "--time" flag: write a duration such as 90s, 10m or 1h30m`,
		"--none":                     "unknown flag: --none",
	} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.Int("int", 0, "")
		set.Float64("float", 0, "")
		set.Bool("switch", false, "")
		set.Duration("time", 0, "")
		if err := ValueMeant(set.Parse([]string{text})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"currency: EUR\nperUnit: x\n":                 "want a map, not x",
		"currency: EUR\nperUnit: {a: x}\n":            "want a number, not x",
		"currency: EUR\ninstances: {a: 1}\n":          "want a list, not a map",
		"currency: EUR\ninstances: [5]\n":             "want a map, not 5",
		"currency: EUR\nperCore: [5]\n":               "want a number, not a list",
		"currency: EUR\ninstances: [{tpe: m5.large}]": "field tpe: there is no such field",
	} {
		_, err := ReadPrices(write(t, "prices.yaml", text))
		if err == nil || !strings.Contains(err.Error(), ".yaml:2: want currency") ||
			!strings.HasSuffix(err.Error(), "and commitments: "+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
