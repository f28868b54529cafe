"""HTML pages from templates, for files, notebooks and the dashboard.

Templates escape all values; only drawings are inserted as markup, which consists of elements
(``drawing.svg``). Style sheets and scripts are files of this package (``static``). All content is
prepared before; a template only arranges it.
"""
