"""What to ask and how to judge the answers; one folder for each suite."""
