"""The pages that every project has."""
