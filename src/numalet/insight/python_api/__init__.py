"""What the public package offers beyond the core: any form of a machine, questions, rows."""
