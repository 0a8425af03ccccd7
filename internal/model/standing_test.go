package model_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestUnitStatesAreAll: a state without a name would have no row in growth's table, and be lost in a restart.
func TestUnitStatesAreAll(t *testing.T) {
	src, err := os.ReadFile("ask.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\tUnit[A-Z]\w*( UnitState = iota)?$`).FindAllString(string(src), -1)
	if len(declared) != len(model.UnitStates) {
		t.Errorf("ask.go declares the states%q, and `UnitStates` there has %v: add what it lacks, at its place",
			declared, model.UnitStates)
	}
}

// TestStagesAreAll: a stage that the list lacks would have no column in removal's table and no gauge.
func TestStagesAreAll(t *testing.T) {
	src, err := os.ReadFile("standing.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []model.Stage
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Stage += "(\w+)"`).FindAllStringSubmatch(string(src), -1) {
		declared = append(declared, model.Stage(m[1]))
	}
	if !slices.Equal(declared, model.Stages) {
		t.Errorf("standing.go declares the stages %v, and `Stages` there has %v: add what it lacks", declared, model.Stages)
	}
}
