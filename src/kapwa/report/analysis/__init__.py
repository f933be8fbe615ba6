"""One page about an analysis of generations: what changes in them with culture, with every number beside its floor."""
