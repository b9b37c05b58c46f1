"""HTML pages that need nothing but a browser: the loss explorer and the report of results."""
