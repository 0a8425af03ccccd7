package observe

import (
	"context"
	"reflect"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Prices says what nodes cost, and where that is read again.
type Prices struct {
	// First counts until Read has another answer.
	First *model.Prices
	// Read reads the operator's file again; nil if there is none. It is called at each
	// scan interval.
	Read func() (*model.Prices, error)
}

// prices reads the operator's prices again until ctx ends. The file is looked at, not watched: a
// mounted ConfigMap is replaced by a link to another folder, and a file that is gone may come back.
func (o *Observer) rereadPrices(ctx context.Context) {
	if o.settings.Prices.Read == nil {
		return
	}
	tick := time.NewTicker(o.settings.ScanInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			o.takePrices(o.settings.Prices.Read())
		}
	}
}

// takePrices takes in a read of the prices. After one that failed, the last good ones hold.
func (o *Observer) takePrices(read *model.Prices, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	why := ""
	if err != nil {
		why, read = err.Error(), o.prices
	}
	differ := !reflect.DeepEqual(read, o.prices)
	if !differ && why == o.pricesErr {
		return
	}
	switch {
	case why != "" && why != o.pricesErr:
		o.log.Error("the prices cannot be read again; the last ones hold", "err", err)
	case why == "":
		o.log.Info("the prices were read again", "changed", differ)
	}
	o.prices, o.pricesErr = read, why
	o.generation++
	o.news()
}

// priceNotices say what is wrong with the file of prices.
func (o *Observer) priceNotices() []provider.Notice {
	if o.pricesErr == "" {
		return nil
	}
	return []provider.Notice{{Code: "PricesNotRead", Message: o.pricesErr + "; the last prices that could be read hold"}}
}
