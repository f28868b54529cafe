"""HTML pages from templates, for files, notebooks and the dashboard.

Templates escape all values; only drawings (``drawing.svg``) are inserted as markup. All content is
prepared before; a template only arranges it.
"""
