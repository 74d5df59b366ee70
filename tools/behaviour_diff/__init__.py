"""What a change moves: two checkouts answer the same questions, and the answers that differ are printed."""
