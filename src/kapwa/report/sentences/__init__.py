"""The sentences of a report: on scores, cultures, missing answers and analyses."""
