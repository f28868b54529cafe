"""Reports about a decision, a configuration, a machine or state files, without an agent.

The rooms project and ask the core; none of them decides. ``usecases`` reads the files that a
question comes with, ``output`` knows the forms of the answers, ``python_api`` is what the public
package offers of them; the other rooms are pure.
"""
