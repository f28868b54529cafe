"""Floor 8: all sentences. The rest of the program knows only codes and values."""
