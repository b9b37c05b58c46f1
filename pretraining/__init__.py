"""Pre-training of a learner of noisy tables: synthetic tables, a network, and a loop that trains it on them."""
