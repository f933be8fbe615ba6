"""Models judge answers by a rubric: which answers, what is asked, how replies are read, and how far to trust it."""
