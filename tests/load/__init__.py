"""The load test's parts: tests/load_test.py runs them, CONTRIBUTING.md tells when."""
