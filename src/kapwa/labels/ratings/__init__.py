"""People judge models' answers by the criteria of a suite: sheets, their reading, and shares of answers."""
