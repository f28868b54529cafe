package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"numalet/oracle/internal/scenario"
)

// twoNodes has two NUMA nodes of two CPUs and 4 GiB each.
const twoNodes = `{"numa_nodes":[
  {"id":0,"memory_bytes":4294967296,"hugepages":[],"distances":[10,20],"cores":[
    {"id":0,"socket":0,"threads":[0],"uncore_cache":null},{"id":1,"socket":0,"threads":[1],"uncore_cache":null}]},
  {"id":1,"memory_bytes":4294967296,"hugepages":[],"distances":[20,10],"cores":[
    {"id":0,"socket":1,"threads":[2],"uncore_cache":null},{"id":1,"socket":1,"threads":[3],"uncore_cache":null}]}]}`

const singleNode = `{"failCgroupV1":false,"cpuManagerPolicy":"static","memoryManagerPolicy":"Static",
  "topologyManagerPolicy":"single-numa-node","reservedSystemCPUs":"0","evictionHard":{"memory.available":"100Mi"},
  "kubeReserved":{"memory":"924Mi"},"reservedMemory":[{"numaNode":0,"limits":{"memory":"1Gi"}}]}`

func pod(uid, cpu, memory string) string {
	return fmt.Sprintf(`{"admit":{"metadata":{"name":%q,"uid":%q},"spec":{"containers":[
	  {"name":"c","resources":{"limits":{"cpu":%q,"memory":%q}}}]}}}`, uid, uid, cpu, memory)
}

func record(t *testing.T, config string, steps ...string) *scenario.Outcome {
	t.Helper()
	line := fmt.Sprintf(`{"machine":%s,"kubelet_config":%s,"steps":[%s]}`, twoNodes, config, strings.Join(steps, ","))
	outcome, err := Record(context.Background(), t.TempDir(), []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestAPodGetsCPUsAndMemoryOfOneNode(t *testing.T) {
	outcome := record(t, singleNode, pod("a", "2", "3Gi"))
	step := outcome.Steps[0]
	if !step.Admitted || step.CPUSet["c"] != "2-3" {
		t.Fatalf("got admitted %t and CPUs %v", step.Admitted, step.CPUSet)
	}
	if blocks := step.Memory["c"]; len(blocks) != 1 || blocks[0].NUMAAffinity[0] != 1 || blocks[0].Size != 3<<30 {
		t.Errorf("got memory %v", blocks)
	}
	if merged := step.Merged["c"]; !merged.Admit || len(merged.Nodes) != 1 || merged.Nodes[0] != 1 {
		t.Errorf("got merged hint %v", merged)
	}
	if hints := step.Hints["c"]["cpu"]["cpu"]; len(hints) != 2 || hints[1].Preferred {
		t.Errorf("got hints %v", hints)
	}
}

func TestARejectedPodHasAReasonAndNoAllocation(t *testing.T) {
	step := record(t, singleNode, pod("a", "3", "1Gi")).Steps[0]
	if step.Admitted || step.Reason != "TopologyAffinityError" || step.CPUSet != nil {
		t.Errorf("got %+v", step.Admission)
	}
}

func TestARestartFindsTheSameAllocation(t *testing.T) {
	steps := record(t, singleNode, pod("a", "1", "1Gi"), `{"restart":{"order":["a","never-admitted"]}}`).Steps
	again := steps[1].Readmitted
	if len(again) != 1 || again[0].UID != "a" || again[0].CPUSet["c"] != steps[0].CPUSet["c"] {
		t.Errorf("got %+v", again)
	}
}

func TestARemovedPodKeepsItsCPUsUntilTheNextAdmission(t *testing.T) {
	steps := record(t, singleNode, pod("a", "1", "1Gi"), `{"remove":"a"}`, pod("b", "1", "1Gi")).Steps
	if string(steps[1].CPUState) != string(steps[0].CPUState) {
		t.Errorf("the removal changed the state: %s", steps[1].CPUState)
	}
	if strings.Contains(string(steps[2].CPUState), `"a"`) {
		t.Errorf("the next admission kept pod a: %s", steps[2].CPUState)
	}
}

func TestFeatureGatesDoNotOutliveTheirScenario(t *testing.T) {
	options := `"cpuManagerPolicyOptions":{"align-by-socket":"true"}`
	allowed := fmt.Sprintf(`{"failCgroupV1":false,"cpuManagerPolicy":"static","reservedSystemCPUs":"0",%s,
	  "featureGates":{"CPUManagerPolicyAlphaOptions":true}}`, options)
	if failure := record(t, allowed).StartError; failure != nil {
		t.Fatalf("with the gate: %s", *failure)
	}
	refused := record(t, fmt.Sprintf(`{"failCgroupV1":false,"cpuManagerPolicy":"static","reservedSystemCPUs":"0",%s}`, options))
	if refused.StartError == nil || refused.StartErrorStage != "cpu-manager" {
		t.Errorf("without the gate: got stage %q", refused.StartErrorStage)
	}
}

func TestPathsOfErrorsAreThoseOfTheKubelet(t *testing.T) {
	line := fmt.Sprintf(`{"machine":%s,"kubelet_config":%s,"state_files":{"cpu_manager_state":"{}"},"steps":[]}`,
		twoNodes, singleNode)
	outcome, err := Record(context.Background(), t.TempDir(), []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if outcome.StartError == nil || !strings.Contains(*outcome.StartError, "/var/lib/kubelet/cpu_manager_state") {
		text, _ := json.Marshal(outcome.StartError)
		t.Errorf("got %s", text)
	}
}

func TestDevicesNeedTheKubeletsOwnFolder(t *testing.T) {
	line := fmt.Sprintf(`{"machine":%s,"kubelet_config":{},"devices":[{"resource":"example.com/x","devices":[]}]}`, twoNodes)
	if _, err := Record(context.Background(), t.TempDir(), []byte(line)); err == nil {
		t.Error("got no error")
	}
}
