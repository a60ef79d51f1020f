"""Folders and objects that hold a whole data set: what each layout means, before anything is converted."""
