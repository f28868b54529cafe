package vectors

import (
	"fmt"
	"reflect"
	"slices"
)

// marksName is the member of an admission that names the fields that are left
// out because they depend on the iteration order of the kubelet's maps.
const marksName = "nondeterministic"

// mayVary are the fields that may be marked. A scenario in which anything else
// varies cannot be recorded.
var mayVary = []string{"devices", "devices_by_numa"}

// agreed returns what all outcomes have in common: the first one, in which the
// fields that vary are marked and left out.
func agreed(outcomes []any) (any, error) {
	first := outcomes[0]
	for _, other := range outcomes[1:] {
		eachAdmission(first, other, func(a, b object) {
			for _, field := range mayVary {
				if !reflect.DeepEqual(a[field], b[field]) {
					mark(a, field)
				}
			}
		})
	}
	for _, outcome := range outcomes {
		eachAdmission(first, outcome, leaveOutMarked)
		if place := firstDifference("expect", first, outcome); place != "" {
			return nil, fmt.Errorf("the outcome varies at %s", place)
		}
	}
	return first, nil
}

// copyMarks marks in an outcome what is marked in a recorded one.
func copyMarks(recorded, outcome any) {
	eachAdmission(recorded, outcome, func(a, b object) {
		for _, field := range list(a, marksName) {
			mark(b, field.(string))
		}
	})
}

func mark(admission object, field string) {
	marks := list(admission, marksName)
	if contains(marks, field) {
		return
	}
	marks = append(marks, field)
	slices.SortFunc(marks, func(a, b any) int {
		return slices.Index(mayVary, a.(string)) - slices.Index(mayVary, b.(string))
	})
	admission[marksName] = marks
}

// leaveOutMarked deletes from an admission what another one marks.
func leaveOutMarked(marked, from object) {
	marks := list(marked, marksName)
	if len(marks) == 0 {
		return
	}
	from[marksName] = marks
	for _, field := range marks {
		delete(from, field.(string))
	}
}

// eachAdmission calls a function with the admissions that are at the same
// place in two outcomes: steps, and pods that a restart admitted again.
func eachAdmission(a, b any, call func(a, b object)) {
	pairs(list(a, "steps"), list(b, "steps"), func(x, y object) {
		call(x, y)
		pairs(list(x, "readmitted"), list(y, "readmitted"), call)
	})
}

func pairs(as, bs []any, call func(a, b object)) {
	for i := range min(len(as), len(bs)) {
		a, aOK := as[i].(object)
		b, bOK := bs[i].(object)
		if aOK && bOK {
			call(a, b)
		}
	}
}

func contains(values []any, wanted string) bool {
	return slices.ContainsFunc(values, func(value any) bool { return value == wanted })
}
