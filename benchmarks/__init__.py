"""Measurements of locallin and its peers: python -m benchmarks --help."""

import os

# Threads of OpenMP that wait by spinning starve each other where cores are shared.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
