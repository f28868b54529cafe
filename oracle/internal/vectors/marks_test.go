package vectors

import (
	"strings"
	"testing"
)

func tree(t *testing.T, text string) any {
	t.Helper()
	decoded, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestDevicesThatVaryAreMarkedAndLeftOut(t *testing.T) {
	first := tree(t, `{"steps":[{"admitted":true,"devices":{"c":["d0"]},"devices_by_numa":{"c":1}}]}`)
	second := tree(t, `{"steps":[{"admitted":true,"devices":{"c":["d1"]},"devices_by_numa":{"c":1}}]}`)
	outcome, err := agreed([]any{first, second})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"steps":[{"admitted":true,"devices_by_numa":{"c":1},"nondeterministic":["devices"]}]}`
	if got := text(t, outcome); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDevicesOfReadmittedPodsAreMarkedToo(t *testing.T) {
	first := tree(t, `{"steps":[{"readmitted":[{"uid":"a","devices":{"c":["d0"]}}]}]}`)
	second := tree(t, `{"steps":[{"readmitted":[{"uid":"a","devices":{"c":["d1"]}}]}]}`)
	outcome, err := agreed([]any{first, second})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"steps":[{"readmitted":[{"nondeterministic":["devices"],"uid":"a"}]}]}`
	if got := text(t, outcome); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnOutcomeInWhichAnythingElseVariesIsRefused(t *testing.T) {
	first := tree(t, `{"steps":[{"admitted":true},{"admitted":true}]}`)
	second := tree(t, `{"steps":[{"admitted":true},{"admitted":false}]}`)
	_, err := agreed([]any{first, second})
	if err == nil || !strings.Contains(err.Error(), "expect.steps[1].admitted") {
		t.Errorf("got error %v", err)
	}
}

func TestMarksOfTheInputAreKept(t *testing.T) {
	recorded := tree(t, `{"steps":[{"nondeterministic":["devices","devices_by_numa"]}]}`)
	outcome := tree(t, `{"steps":[{"admitted":true,"devices":{},"devices_by_numa":{}}]}`)
	copyMarks(recorded, outcome)
	outcome, err := agreed([]any{outcome})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"steps":[{"admitted":true,"nondeterministic":["devices","devices_by_numa"]}]}`
	if got := text(t, outcome); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPodsThatWereRejectedLeaveTheOrderOfARestart(t *testing.T) {
	scenario := tree(t, `{"steps":[{"restart":{"order":["a","b"]}}],"tags":["x"]}`).(object)
	fixOrders(scenario, tree(t, `{"steps":[{"readmitted":[{"uid":"b"}]}]}`))
	want := `{"steps":[{"restart":{"order":["b"]}}],"tags":["x","order-fixed"]}`
	if got := text(t, scenario); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNumbersAndTextsAreWrittenAsTheyWereRead(t *testing.T) {
	want := `{"message":"a < b & ü","size":18446744073709551615}`
	if got := text(t, tree(t, want)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
