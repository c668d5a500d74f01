"""One file a method, and the skeleton that all methods share.

A method is a docstring, constraints of its parameters and a short ``fit``; how it
learns is in :mod:`locallin.solvers`.
"""
