"""Prompts across cultures (EECC): concepts, identities and templates that people agree to."""
