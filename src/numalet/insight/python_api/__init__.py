"""Functions of the public package beyond the core: machines in any form, questions, rows."""
