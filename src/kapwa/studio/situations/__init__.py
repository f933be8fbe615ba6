"""Situations (Kalahi): elicited, written, reviewed by focus groups, accepted."""
