"""What a terminal prints of runs, comparisons and analyses: sentences and tables of the page."""
