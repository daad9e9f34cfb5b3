"""From records to a board: statistics, figures, one self-contained page. Reads records, computes no theory."""
