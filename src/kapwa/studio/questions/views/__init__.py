"""The pages of everyday questions, by what people do there."""
