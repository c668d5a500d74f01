"""Outer loops, stopping rules and buffers: problems and arrays in, solutions out.

Nothing in here knows of an estimator.
"""
