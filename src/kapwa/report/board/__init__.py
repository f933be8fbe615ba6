"""Systems side by side: the board with its ranks and verdicts, people's labels beside it, and the tables of papers."""
