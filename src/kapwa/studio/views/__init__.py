"""The pages, by what people do there; importing them fills the table of pages."""
