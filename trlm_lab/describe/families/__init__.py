"""One file a model family: its closed configuration schema and the tensors that it must have."""
