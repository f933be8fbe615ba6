"""What people would have said: audits of automatic scores, rubrics, judges, and items that people dispute."""
