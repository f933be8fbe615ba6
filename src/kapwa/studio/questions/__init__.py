"""Everyday questions (BLEnD): worded, agreed to, answered; answers that mean the same are merged."""
