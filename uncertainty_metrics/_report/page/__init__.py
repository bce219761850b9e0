"""Shows a report as a page, text, pictures and JSON, and writes its files."""
