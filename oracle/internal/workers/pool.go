package workers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"time"
)

// Pool is several workers with the same arguments.
type Pool struct {
	Size      int
	Timeout   time.Duration // for one line
	Arguments []string      // of the worker command
}

// Recorded is the result of one line.
type Recorded struct {
	Input  []byte
	Output []byte
	Err    error
}

// job is a line on its way through the pool.
type job struct {
	line   []byte
	result chan Recorded
}

// Each records every line of the input, several at a time, and calls use with
// the results in the order of the lines.
func (p Pool) Each(in io.Reader, use func(Recorded) error) error {
	jobs := make(chan job)
	inOrder := make(chan job, 16*p.Size)
	readError := make(chan error, 1)
	for range p.Size {
		go p.work(jobs)
	}
	go func() {
		defer close(inOrder)
		defer close(jobs)
		readError <- EachLine(in, func(line []byte) error {
			next := job{line, make(chan Recorded, 1)}
			inOrder <- next
			jobs <- next
			return nil
		})
	}()
	var useError error
	for next := range inOrder {
		if result := <-next.result; useError == nil {
			useError = use(result)
		}
	}
	return errors.Join(useError, <-readError)
}

// work serves jobs with one worker. The kernel kills a worker when the thread
// that started it ends, so the thread is kept.
func (p Pool) work(jobs <-chan job) {
	runtime.LockOSThread()
	w := worker{arguments: append([]string{Command}, p.Arguments...), timeout: p.Timeout}
	for next := range jobs {
		output, err := w.record(next.line)
		next.result <- Recorded{next.line, output, err}
	}
	_ = w.end()
}

// EachLine calls a function with a copy of every line that is not blank.
func EachLine(in io.Reader, call func(line []byte) error) error {
	reader := bufio.NewReader(in)
	for {
		line, err := reader.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if err := call(trimmed); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
