"""Where the work runs: in this process, or on Ray."""
