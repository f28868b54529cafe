"""One room per resource manager. The rooms do not know each other."""
