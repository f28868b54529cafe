"""What ``/proc`` says about running processes: where their memory is, where they may run."""
