// Package vectors records lines: a scenario with the outcome of several runs.
//
// Lines are JSON trees here and not the types of the package scenario, so that
// members that the oracle does not use come through as they were.
package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

type object = map[string]any

// decode keeps numbers as they are written: memory sizes exceed a float64.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	err := decoder.Decode(&tree)
	return tree, err
}

// Encode writes a value in the form of the recorded lines: members in the
// order of their names, and <, > and & as they are.
func Encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// treeOf converts an outcome to a tree.
func treeOf(value any) (any, error) {
	text, err := Encode(value)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// member returns a member of an object, and nil if there is none.
func member(tree any, name string) any {
	o, _ := tree.(object)
	return o[name]
}

// list returns a member that is a list.
func list(tree any, name string) []any {
	l, _ := member(tree, name).([]any)
	return l
}

// firstDifference names a place at which two trees differ, or returns "".
func firstDifference(place string, a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	x, isObject := a.(object)
	y, isAlso := b.(object)
	if isObject && isAlso {
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if found := firstDifference(place+"."+name, x[name], y[name]); found != "" {
				return found
			}
		}
	}
	p, isList := a.([]any)
	q, isAlso := b.([]any)
	if isList && isAlso && len(p) == len(q) {
		for i := range p {
			if found := firstDifference(fmt.Sprintf("%s[%d]", place, i), p[i], q[i]); found != "" {
				return found
			}
		}
	}
	return place
}
