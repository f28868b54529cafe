"""The source of the documentation site: the pages of ``docs``, and pages made from the code.

``python -m site_source DOCS FOLDER`` writes it. Pages are written for GitHub, with relative links
to files of the project; ``assembling`` copies them and leads links to where the site has those
files. A page with a mark such as ``<!-- made: metrics -->`` gets there what the module of that name
makes, so that a fact is written once, in the code.
"""
