package workers

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets this test program serve as the worker that a pool starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		if err := Serve(os.Stdin, os.Stdout, fakeRecord); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func fakeRecord(line []byte) ([]byte, error) {
	switch string(line) {
	case `"refuse"`:
		return nil, errors.New("refused")
	case `"die"`:
		os.Exit(3)
	case `"hang"`:
		time.Sleep(time.Hour)
	case `"slow"`:
		time.Sleep(50 * time.Millisecond)
	}
	return line, nil
}

func results(t *testing.T, pool Pool, input string) []string {
	t.Helper()
	var texts []string
	err := pool.Each(strings.NewReader(input), func(r Recorded) error {
		text := string(r.Output)
		if r.Err != nil {
			text = string(r.Input) + ": " + r.Err.Error()
		}
		texts = append(texts, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestResultsComeInTheOrderOfTheLines(t *testing.T) {
	pool := Pool{Size: 3, Timeout: time.Minute}
	got := results(t, pool, "\"slow\"\n\"a\"\n\n\"b\"\n\"slow\"\n\"c\"")
	if want := `"slow" "a" "b" "slow" "c"`; strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
}

func TestAWorkerThatDiesCostsOneLine(t *testing.T) {
	got := results(t, Pool{Size: 1, Timeout: time.Minute}, "\"refuse\"\n\"die\"\n\"a\"\n")
	if got[0] != `"refuse": refused` || !strings.HasPrefix(got[1], `"die": the worker died: exit status 3`) {
		t.Errorf("got %q", got[:2])
	}
	if got[2] != `"a"` {
		t.Errorf("after the death: got %q", got[2])
	}
}

func TestALineThatTakesTooLongIsGivenUp(t *testing.T) {
	got := results(t, Pool{Size: 1, Timeout: 300 * time.Millisecond}, "\"hang\"\n\"a\"\n")
	if got[0] != `"hang": no outcome after 300ms` || got[1] != `"a"` {
		t.Errorf("got %q", got)
	}
}
