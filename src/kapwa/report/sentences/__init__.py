"""What a report says in words: of scores, of cultures, of what is missing, of an analysis."""
