package provider

import (
	"fmt"
	"math"
	"strconv"
)

// The capacity types: how a machine was bought.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// Price is what a node costs per hour. A field that is empty fits every node.
type Price struct {
	InstanceType string  `json:"type,omitempty"`
	Zone         string  `json:"zone,omitempty"`
	CapacityType string  `json:"capacityType,omitempty"`
	PerHour      float64 `json:"perHour"`
}

// Commitment is what each of the first few nodes of a kind costs per hour. A field that is empty fits every node.
type Commitment struct {
	// Name is what a person knows it by.
	Name         string  `json:"name"`
	InstanceType string  `json:"type,omitempty"`
	Zone         string  `json:"zone,omitempty"`
	CapacityType string  `json:"capacityType,omitempty"`
	OS           string  `json:"os,omitempty"`
	Nodes        int     `json:"nodes"`
	PerHour      float64 `json:"perHour"`
}

// PriceAnnotation says, on the object that a group is made of, what one of its nodes costs per hour.
const PriceAnnotation = "plimsoll.dev/price-per-hour"

// AnnotatedPrice reads PriceAnnotation: nil if it is not there. A value that is no price is an
// error, and never zero.
func AnnotatedPrice(annotations map[string]string) (*float64, error) {
	text, ok := annotations[PriceAnnotation]
	if !ok {
		return nil, nil
	}
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= 0) || math.IsInf(price, 0) {
		return nil, fmt.Errorf("the annotation %s=%q is no price", PriceAnnotation, text)
	}
	return &price, nil
}
