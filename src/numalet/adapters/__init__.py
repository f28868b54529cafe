"""The outside world, one folder per neighbour. Effects begin here."""
