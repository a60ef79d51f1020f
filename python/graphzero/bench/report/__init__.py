"""The parts of the HTML report. ``graphzero.bench.html_report`` puts them together."""
