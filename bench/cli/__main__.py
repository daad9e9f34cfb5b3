"""`python -m bench.cli`: the command without an installed entry point."""

from bench.cli import main

if __name__ == "__main__":  # a spawned worker imports this module, and must not start the command again
    main()
