"""Reading what people write for a suite: cards, tables of any kind, YAML with line numbers, the hub, odd cells."""
