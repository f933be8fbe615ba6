"""What many texts say together: pairwise distances, variance, words, and correlation with cultural values."""
