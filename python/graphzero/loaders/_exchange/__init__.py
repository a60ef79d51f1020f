"""Rows that hosts divide: each rank asks others for what a batch needs, and answers them."""
