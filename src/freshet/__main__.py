"""`python -m freshet`"""

from freshet.cli import main

if __name__ == "__main__":
    main()
