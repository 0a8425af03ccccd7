package provider

import "testing"

func TestAnnotatedPrice(t *testing.T) {
	for text, want := range map[string]float64{
		"0.25": 0.25, "0": 0, "": -1, "-1": -1, "NaN": -1, "inf": -1, "0.1 USD": -1,
	} {
		price, err := AnnotatedPrice(map[string]string{PriceAnnotation: text})
		if (err != nil) != (want < 0) || (price != nil) != (want >= 0) || price != nil && *price != want {
			t.Errorf("%q: %v, %v, want %v", text, price, err, want)
		}
	}
	if price, err := AnnotatedPrice(nil); price != nil || err != nil {
		t.Errorf("without the annotation: %v, %v", price, err)
	}
}
