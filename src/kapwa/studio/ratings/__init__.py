"""Ratings of texts and the human baseline: drawn for people, judged at desks, of whatever form a project is."""
