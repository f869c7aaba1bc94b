"""Tokenizer engines held against each other on generated texts, shard by shard."""
