"""The contract that daemon and clients share: standard library and msgpack only."""
