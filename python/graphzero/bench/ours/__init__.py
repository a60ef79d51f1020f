"""graphzero as a contestant: programs that are asked, timed and answered for like those of the rivals."""
