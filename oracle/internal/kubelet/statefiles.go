package kubelet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"

	"numalet/oracle/internal/scenario"
)

const (
	cpuStateFile    = "cpu_manager_state"
	memoryStateFile = "memory_manager_state"
)

// WriteStateFiles replaces files of the folder. An empty text deletes a file.
func (n *Node) WriteStateFiles(files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(n.dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
		} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ReadStates reads both state files; exact adds their exact text.
func (n *Node) ReadStates(exact bool) (states scenario.States, err error) {
	if states.CPUState, err = n.read(cpuStateFile); err != nil {
		return states, err
	}
	if states.MemoryState, err = n.read(memoryStateFile); err != nil {
		return states, err
	}
	if exact {
		cpu, memory := string(states.CPUState), string(states.MemoryState)
		states.CPUStateRaw, states.MemoryStateRaw = &cpu, &memory
	}
	sorted, err := sortBlocks(states.MemoryState)
	if err != nil {
		return states, err
	}
	if sorted != nil {
		states.MemoryState, states.MemoryStateBlocks, states.MemoryStateRaw = sorted, "sorted", nil
	}
	return states, nil
}

// read returns nil if there is no such file.
func (n *Node) read(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(n.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// sortBlocks returns the memory state with the blocks of each container sorted
// by type and the checksum of that, or nil if no container has several blocks.
// The kubelet writes them in the order of a map, so the order is chance. All is
// done by the release's own checkpoint type. It must first write the file again
// as it is, because a member that the type does not know would get lost.
func sortBlocks(file []byte) ([]byte, error) {
	checkpoint, lists := newMemoryCheckpoint()
	if len(file) == 0 || checkpoint.UnmarshalCheckpoint(file) != nil {
		return nil, nil // nothing, or nothing that this kubelet wrote
	}
	several := func(blocks []state.Block) bool { return len(blocks) > 1 }
	if !slices.ContainsFunc(lists(), several) {
		return nil, nil
	}
	again, err := checkpoint.MarshalCheckpoint()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, file) {
		return nil, fmt.Errorf("%s is not what its checkpoint type writes:\n%s\n%s", memoryStateFile, file, again)
	}
	for _, blocks := range lists() {
		slices.SortStableFunc(blocks, func(a, b state.Block) int { return cmp.Compare(a.Type, b.Type) })
	}
	return checkpoint.MarshalCheckpoint()
}

// containerBlocks lists the blocks of every container. The lists share their
// memory with the checkpoint, so sorting them sorts it.
func containerBlocks(pods state.ContainerMemoryAssignments) [][]state.Block {
	var lists [][]state.Block
	for _, containers := range pods {
		for _, blocks := range containers {
			lists = append(lists, blocks)
		}
	}
	return lists
}
