"""The pages of situations, by what people do there."""
