package kubelet

// Failure is an error that stops the kubelet. Stage says which part of the
// start it comes from, in the words of the scenario format.
type Failure struct {
	Stage string
	Cause error
}

func (f *Failure) Error() string { return f.Stage + ": " + f.Cause.Error() }

func (f *Failure) Unwrap() error { return f.Cause }

func failure(stage string, cause error) error { return &Failure{stage, cause} }
