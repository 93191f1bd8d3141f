"""``python -m memory_assets`` is the command ``memory-assets``."""

from memory_assets.cli.app import main

if __name__ == "__main__":
    main()
