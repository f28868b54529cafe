// Package workers runs scenarios in processes of their own. A kubelet's
// feature gates belong to its process, its folder is compiled in, and a merge
// that takes too long can be ended only together with its process.
package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Command is the subcommand of this program that serves as a worker.
const Command = "worker"

// answer is what a worker writes for a line: the recorded line or an error.
type answer struct {
	Line  json.RawMessage `json:"line,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Serve is the loop of a worker: a line in, an answer out.
func Serve(in io.Reader, out io.Writer, record func(line []byte) ([]byte, error)) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return EachLine(in, func(line []byte) error {
		recorded, err := record(line)
		if err != nil {
			return encoder.Encode(answer{Error: err.Error()})
		}
		return encoder.Encode(answer{Line: recorded})
	})
}

// worker is a child process. It is started for its first line, and again for
// the next one if it died.
type worker struct {
	arguments []string
	timeout   time.Duration
	command   *exec.Cmd // nil: not alive
	in        io.WriteCloser
	out       *bufio.Reader
}

// record returns the worker's answer to a line.
func (w *worker) record(line []byte) ([]byte, error) {
	if w.command == nil {
		if err := w.start(); err != nil {
			return nil, fmt.Errorf("cannot start a worker: %w", err)
		}
	}
	process := w.command.Process
	timer := time.AfterFunc(w.timeout, func() { _ = process.Kill() })
	text, err := w.exchange(line)
	inTime := timer.Stop()
	if err != nil {
		if ended := w.end(); ended != nil {
			err = ended
		}
		if !inTime {
			return nil, fmt.Errorf("no outcome after %s", w.timeout)
		}
		return nil, fmt.Errorf("the worker died: %w", err)
	}
	var answered answer
	if err := json.Unmarshal(text, &answered); err != nil {
		return nil, err
	}
	if answered.Error != "" {
		return nil, errors.New(answered.Error)
	}
	return answered.Line, nil
}

func (w *worker) start() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(program, w.arguments...)
	command.Stderr = os.Stderr
	command.SysProcAttr, _ = privateMounts()
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	w.command, w.in, w.out = command, in, bufio.NewReader(out)
	return nil
}

func (w *worker) exchange(line []byte) ([]byte, error) {
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return w.out.ReadBytes('\n')
}

// end closes the worker's input and waits for its end.
func (w *worker) end() error {
	if w.command == nil {
		return nil
	}
	_ = w.in.Close()
	err := w.command.Wait()
	w.command = nil
	return err
}
