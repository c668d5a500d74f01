"""A fuzzer: broken files, matrices, arguments and commands, each case from a seed.

``python -m tests.fuzz --cases 20000 --seed 1`` in the root of the clone runs as many
cases as asked for and lists what it found; ``--target`` chooses one target, and
``--only 123`` repeats one case in this process. A case ends well in a sound result, or
in an error that was raised on purpose. A signal, a hang, NaN without a word, and any
other error are findings: mend the library, and keep the case in ``test_fuzz.py``.
"""
