"""Engines on trial: native, WebAssembly, browser, other processes, and the planted faults."""
