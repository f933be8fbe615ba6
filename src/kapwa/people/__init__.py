"""Making a benchmark, and the human side of one."""
