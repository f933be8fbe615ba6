"""Tables as they came to be, release by release."""
