"""Measures the numbers the project promises, each beside a reference; run by `make bench`.

Nothing here is a test: a slow result on a busy machine is shown and does not fail. Guarantees belong in the tests.
"""
