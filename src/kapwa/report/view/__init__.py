"""What a report is about, arranged for reading: runs of a task or an analysis, scores beside their marks, means."""
