"""Read what people write for a suite: cards, tables of any kind, YAML with line numbers, the hub; report odd cells."""
