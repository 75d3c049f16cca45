"""The admin's skin, which every app's pages use, and the pages of the bottom app."""
