"""The load test's parts: tests/load_trial.py runs them, CONTRIBUTING.md tells when."""
