package observe

import (
	"errors"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestPricesAreReadAgain: new prices make a new generation, and after a read that failed the last good
// ones hold, with one notice until it works again.
func TestPricesAreReadAgain(t *testing.T) {
	price := func(x float64) *model.Prices { return &model.Prices{Names: map[string]float64{"g": x}} }
	o := unwatched(Settings{Prices: Prices{First: price(1)}})
	for _, step := range []struct {
		name    string
		read    *model.Prices
		err     error
		want    float64
		notices int
		news    bool
	}{
		{"the same", price(1), nil, 1, 0, false},
		{"others", price(2), nil, 2, 0, true},
		{"gone", nil, errors.New("gone"), 2, 1, true},
		{"still gone", nil, errors.New("gone"), 2, 1, false},
		{"gone for another reason", nil, errors.New("broken"), 2, 1, true},
		{"back", price(2), nil, 2, 0, true},
	} {
		before := o.generation
		o.takePrices(step.read, step.err)
		if got := o.prices.Names["g"]; got != step.want || len(o.priceNotices()) != step.notices {
			t.Errorf("%s: price %v, notices %v", step.name, got, o.priceNotices())
		}
		if news := o.generation != before; news != step.news {
			t.Errorf("%s: a new generation: %v", step.name, news)
		}
	}
}
