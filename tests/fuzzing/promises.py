"""What a file of strangers may raise: the errors that the documentation promises, and no others."""

import traceback
from pathlib import Path

import graphzero as gz

PACKAGE = str(Path(gz.__file__).parent)


def is_promised(error):
    """Whether it is an error of ours that says what was expected, not one that slipped through."""
    if isinstance(error, OSError):
        return True
    text = str(error)
    if isinstance(error, MemoryError):
        return "memory" in text and "available" in text  # refused before it was asked for
    if isinstance(error, TypeError):  # Python raises these for mistakes of ours; those about data say what was found
        return "expected" in text and "found" in text
    if type(error) not in (gz.FormatError, ValueError, IndexError):
        return False
    return not _is_of_others(error)


def _is_of_others(error):
    """Whether the error comes from the inside of another library."""
    frames = traceback.extract_tb(error.__traceback__)
    return not frames[-1].filename.startswith((PACKAGE, str(Path(__file__).parent)))


def refused(call, *arguments, **options):
    """Whether the call raised what is promised; anything else is a failure."""
    return attempt(call, *arguments, **options) is REFUSED


REFUSED = object()


def attempt(call, *arguments, **options):
    """Return what the call returns, or ``REFUSED``."""
    try:
        return call(*arguments, **options)
    except Exception as error:
        if not is_promised(error):
            raise
        return REFUSED


def look_up(call, *arguments):
    """The same for names that a program asks for and that may not be there, which a sentence says then."""
    try:
        return attempt(call, *arguments)
    except (KeyError, AttributeError) as error:
        if len(str(error).split()) < 5:
            raise
        return REFUSED
