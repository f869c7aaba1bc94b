"""Reference operators in NumPy: arrays in, arrays out, each in named evaluation profiles."""
