"""Runs the command line by ``python -m fasttl``."""

from fasttl.cli import main

if __name__ == "__main__":
    main()
