"""What everything else stands on: values that users pass, and text fit to be printed."""
