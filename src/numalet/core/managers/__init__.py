"""One room per resource manager. The rooms do not import each other."""
