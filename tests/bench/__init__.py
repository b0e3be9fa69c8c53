"""Measures the numbers that the project promises, each beside what it is compared with; run by `make bench`.

Nothing here is a test: what is slow on a busy machine is shown, not failed. What has to hold is in the tests.
"""
