"""What Inspect loads."""
