"""All sentences. The other packages have only codes and values."""
