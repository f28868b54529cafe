"""``numalet breaker``: ends storms of rejected pods; each action has an end and an undo.

``insight/rejections`` makes all decisions from the failed pods, their owners and the cluster; this
package waits, reads, and writes with preconditions and an audit line for each action. Of several
breakers only the lease holder acts. A breaker stores nothing on disk: the changed objects record
all that a restart needs, and ``undoing`` reads it from there.
"""
