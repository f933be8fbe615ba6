"""Items under audit: how runs and people answer each, and which keys people dispute."""
