"""All sentences. The rest of the program knows only codes and values."""
