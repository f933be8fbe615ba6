"""People label a random draw of answers, and their labels correct what a scorer says."""
