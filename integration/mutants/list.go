package main

import (
	"slices"
	"strings"
)

// mutant is one fault to plant, and the test that catches it.
type mutant struct {
	// Name begins with rule-N if it takes a rule of the protocol out.
	Name, What string
	// File has Old exactly once; New takes its place.
	File, Old, New string
	// And are further edits, where a second mechanism has to go too before anything is wrong.
	And []edit
	// Package and Test say what fails then. Test may be several names, divided by |.
	Package, Test string
}

// edit replaces Old, which File has exactly once, by New.
type edit struct{ File, Old, New string }

func (m mutant) edits() []edit { return slices.Concat([]edit{{m.File, m.Old, m.New}}, m.And) }

func (m mutant) tests() []string { return strings.Split(m.Test, "|") }

// mutants are the faults to plant: first the rules of the protocol (docs/architecture.md), taken out one by one, then
// mistakes that an engine of this kind is easily built with.
var mutants = slices.Concat(rulesOfOrder, rulesOfCompleteness, rulesOfStorage, mistakesOfTheRuntime, mistakesOfSourceAndSink, mistakesOfState,
	mistakesOfSavepoints)
