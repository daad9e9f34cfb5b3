"""Makes `faults`, beside this file, importable for the tests in the folders below too."""
