"""Runs and records: specs, sweeps, the runner, the process pool and the command line."""
