"""A run as a file: several tasks put to several models, each with its own settings, read and checked at once."""
