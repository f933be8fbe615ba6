"""The one reader of choices: which option a reply names, or how many percent it gives to each."""
