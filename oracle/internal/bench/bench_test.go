package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// oneNode is a line with a machine of two CPUs, of which one is reserved.
func oneNode(timedFrom int, steps ...string) []byte {
	return fmt.Appendf(nil, `{"name":"a","timed_from":%d,"machine":{"numa_nodes":[
	  {"id":0,"memory_bytes":4294967296,"cores":[
	    {"id":0,"socket":0,"threads":[0]},{"id":1,"socket":0,"threads":[1]}]}]},
	  "kubelet_config":{"failCgroupV1":false,"cpuManagerPolicy":"static","reservedSystemCPUs":"0",
	    "topologyManagerPolicy":"best-effort"},
	  "steps":[%s]}`, timedFrom, strings.Join(steps, ","))
}

func admit(uid string) string {
	return fmt.Sprintf(`{"admit":{"metadata":{"name":%q,"uid":%q},"spec":{"containers":[
	  {"name":"c","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}}`, uid, uid)
}

func TestEveryDecisionIsTold(t *testing.T) {
	steps := []string{admit("a"), admit("b"), `{"remove":"a"}`, admit("b")}
	answer, err := Bench{time.Minute}.Line(context.Background(), t.TempDir(), oneNode(0, steps...))
	if err != nil {
		t.Fatal(err)
	}
	var result Result
	if err := json.Unmarshal(answer, &result); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %v", result.Name, result.Admitted); got != "a [true false true]" {
		t.Errorf("got %s", got)
	}
	if result.Seconds <= 0 {
		t.Errorf("got %g s", result.Seconds)
	}
}

func TestStepsBeforeTheMeasuredOnesCostNothing(t *testing.T) {
	steps := []string{}
	for i := range 400 {
		steps = append(steps, admit(fmt.Sprintf("refused-%d", i)))
	}
	seconds := func(timedFrom int) float64 {
		answer, err := Bench{time.Minute}.Line(context.Background(), t.TempDir(), oneNode(timedFrom, steps...))
		if err != nil {
			t.Fatal(err)
		}
		var result Result
		if err := json.Unmarshal(answer, &result); err != nil {
			t.Fatal(err)
		}
		return result.Seconds
	}
	if all, last := seconds(0), seconds(len(steps)-1); last*10 > all {
		t.Errorf("the last step took %g s of %g s", last, all)
	}
}

func TestARestartIsNotMeasured(t *testing.T) {
	_, err := Bench{time.Minute}.Line(context.Background(), t.TempDir(), oneNode(0, `{"restart":{"order":[]}}`))
	if err == nil {
		t.Error("no error")
	}
}
