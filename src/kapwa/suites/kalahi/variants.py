"""The variants of Kalahi (its section 3): how much of a situation stands in a prompt, all of it first."""

VARIANTS = ("full", "partial", "unenriched")
