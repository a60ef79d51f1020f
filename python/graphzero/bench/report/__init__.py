"""The parts of the HTML report. :mod:`graphzero.bench.html_report` puts them together."""
