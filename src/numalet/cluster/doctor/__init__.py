"""What a cluster lacks for numalet, and the mend.

``collecting`` asks the API server for facts, ``rules`` turns them into findings without asking,
``roles`` has what each account is to be allowed. A question that the API server refuses leaves its
facts unknown, which is a finding of its own, and no rule guesses them.
"""
