"""The kernels of the audits, and nobody else's: rows laid out, sets counted, equal rows found, values matched.

What proposes a release imports nothing from here, and nothing here is imported from where it stands: one fault cannot make a search
publish too much and the audit overlook it. Some of this is written twice in the house for that reason, here as plainly as its
speed allows. The contracts in pyproject.toml keep it so.
"""
