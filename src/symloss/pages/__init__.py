"""What all HTML pages share: their frame, their style, and templates that escape what they are given."""

from symloss.pages.frame import Section, Templates, framed

__all__ = ["Section", "Templates", "framed"]
