"""Floor 11: the outside world, one folder per neighbour. Effects begin here."""
