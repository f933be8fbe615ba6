"""Quality of answers: check questions, signals about one person's answers, and setting these aside by two people."""
