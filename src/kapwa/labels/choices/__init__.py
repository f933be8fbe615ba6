"""People choose the best of an item's options: sheets, their reading, and the human baseline."""
