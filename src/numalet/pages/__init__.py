"""Pages of HTML, out of templates: what files, notebooks and the dashboard show.

A template gets values and never markup of a pod's author: everything is escaped but the drawings,
which are made of elements (``drawing.svg``). Style sheets and scripts are files of this room
(``static``). What a page says is worked out before; a template only puts it in its place.
"""
